#!/usr/bin/env bash
# Verify and measure the engine `prefill` on a machine with one Hopper GPU: torch, triton, transformers, safetensors,
# tokenizers, pytest and numpy are enough; SGLang and FlashInfer are measured beside it where they are installed.
#
#   infra/gpu/verify_prefill.sh OUT [verify] [proof] [bench]     default: all three; each ends within ten minutes
#
# verify  every kernel against its plain reference, the labeler against the oracles, NaN by name, fp8       (tests/gpu)
# proof   a pair's bits over 1,000,000 regrouped pairs, single pairs and two processes, 1.5B and 0.6B       (check)
# bench   labels/s, TFLOP/s, power, SM clock and energy a label, of every precision and of SGLang           (bench.gpu)
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 4
OUT=${1:?a folder for logs and results}
shift
mkdir -p "$OUT"
export PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}" HF_HUB_OFFLINE=1 PYTHONUNBUFFERED=1
MODELS=${MODELS:-$(mktemp -d)}
failed=0

verify() {
  python3 -m pytest -q -p no:cacheprovider --log-level=INFO --log-file="$OUT/verify.log" tests/gpu/test_prefill_kernels.py \
    tests/gpu/test_prefill_engine.py 2>&1 | tee "$OUT/verify.txt"
}

random_model() { # random_model SHAPE: config.json and random weights of the paper's model
  [ -d "$MODELS/$1" ] || python3 -c "
from pathlib import Path
from mis_scoring.bench.shapes import write_random_model
write_random_model(Path('$MODELS/$1'), '$1')"
}

proof() {
  local shape
  for shape in 0.6B 1.5B; do
    random_model "$shape"
    timeout 280 python3 -m mis_scoring.engines.prefill.check "$MODELS/$shape" --pairs "${PAIRS:-1000000}" \
      2>"$OUT/proof-$shape.log" | tee "$OUT/proof-$shape.json" || return 1
  done
}

bench() {
  local plans=(prefill:1:-:200x24 prefill-fp8-mlp:1:-:200x24 prefill-fp8-all:1:-:200x24)
  python3 -c 'import sglang' 2>/dev/null && plans=(mis:1:-:200x24 "${plans[@]}")
  python3 -m mis_scoring.bench.gpu --shapes 1.5B 0.6B --seconds "${SECONDS_A_RUN:-4}" --query-tokens 744 \
    --plans "${plans[@]}" --out "$OUT/bench.json" 2>"$OUT/bench.log" | tee "$OUT/bench.txt"
}

for step in "${@:-verify proof bench}"; do
  for name in $step; do
    echo "--- $name"
    "$name" || failed=1
  done
done
exit "$failed"
