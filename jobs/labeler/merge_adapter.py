"""Put an adapter that came back alone from a training machine into its base: a whole checkpoint.

python -m jobs.labeler.merge_adapter --base BASE --adapter WORK/adapter --out WORK/model
"""

import argparse
from pathlib import Path

from mis_scoring.engines.checkpoint import require_checkpoint
from mis_scoring.training.adapter import load_adapter, merge
from mis_scoring.training.base import load_base
from mis_scoring.training.checkpoints import save_model


def merge_adapter(base_dir: Path, adapter_dir: Path, out_dir: Path, *, dtype: str = "bfloat16") -> None:
    """Write the model folder that `finetune_labeler` wrote where it trained.

    Raises:
        ArchitectureError, BaseModelError: lists what is wrong with the base.
    """
    require_checkpoint(base_dir)
    merged = merge(load_adapter(load_base(base_dir), adapter_dir))
    save_model(merged, base_dir / "tokenizer.json", out_dir, dtype=dtype)


def main() -> None:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--adapter", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--dtype", default="bfloat16")
    args = parser.parse_args()
    merge_adapter(args.base, args.adapter, args.out, dtype=args.dtype)


if __name__ == "__main__":
    main()
