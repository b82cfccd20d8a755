"""See `mis_scoring.bench.cpu`."""

from mis_scoring.bench.cpu import main

if __name__ == "__main__":
    raise SystemExit(main())
