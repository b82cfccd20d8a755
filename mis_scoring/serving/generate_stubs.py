"""Write the stubs of `scoring.proto`: `python -m mis_scoring.serving.generate_stubs`; needs grpcio-tools."""

import sys
from pathlib import Path

PROTO = Path("mis_scoring/serving/scoring.proto")  # its name in the stubs, and so in the process: one of a kind
STUBS = tuple(PROTO.with_name(name) for name in ("scoring_pb2.py", "scoring_pb2.pyi", "scoring_pb2_grpc.py"))
CHECKOUT = Path(__file__).resolve().parents[2]


def generate_stubs(folder: Path) -> None:
    """Write `STUBS` under a folder.

    Raises:
        RuntimeError: protoc refused the proto.
    """
    from grpc_tools import protoc

    command = ["protoc", f"-I{CHECKOUT}", *(f"--{kind}_out={folder}" for kind in ("python", "pyi", "grpc_python"))]
    if protoc.main([*command, str(PROTO)]) != 0:
        raise RuntimeError(f"protoc refused {PROTO}; its reason stands above")


if __name__ == "__main__":
    generate_stubs(CHECKOUT)
    sys.stdout.write(f"wrote {', '.join(map(str, STUBS))}\n")
