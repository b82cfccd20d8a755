"""Write the stubs of the jobs' protos: `python -m jobs.generate_stubs`; needs grpcio-tools."""

import sys
from pathlib import Path

PROTOS = (Path("jobs/updates/updates.proto"), Path("jobs/kv/labels.proto"))
STUBS = tuple(proto.with_name(proto.stem + end) for proto in PROTOS for end in ("_pb2.py", "_pb2.pyi", "_pb2_grpc.py"))
CHECKOUT = Path(__file__).resolve().parents[1]


def generate_stubs(folder: Path) -> None:
    """Write `STUBS` under a folder.

    Raises:
        RuntimeError: protoc refused a proto.
    """
    from grpc_tools import protoc

    command = ["protoc", f"-I{CHECKOUT}", *(f"--{kind}_out={folder}" for kind in ("python", "pyi", "grpc_python"))]
    for proto in PROTOS:
        if protoc.main([*command, str(proto)]) != 0:
            raise RuntimeError(f"protoc refused {proto}; its reason stands above")


if __name__ == "__main__":
    generate_stubs(CHECKOUT)
    sys.stdout.write(f"wrote {', '.join(map(str, STUBS))}\n")
