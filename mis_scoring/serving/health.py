"""Ask a server whether it answers requests now: `python -m mis_scoring.serving.health`; exit code 0 where it does.

For probes: those of Kubernetes speak no TLS. Needs no token, and no certificate beyond who signed the server's.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from mis_scoring.core.errors import DataError
from mis_scoring.serving.access import open_channel


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 0 where it answers, 1 where it does not; says why on stderr."""
    options = _parser().parse_args(arguments)
    try:
        with open_channel(options.address, options.ca_file, server_name=options.server_name) as channel:
            asked = health_pb2.HealthCheckRequest()
            status = health_pb2_grpc.HealthStub(channel).Check(asked, timeout=options.timeout_s).status
    except grpc.RpcError as error:
        sys.stderr.write(f"{options.address}: {error.code().name}, {error.details()}\n")
        return 1
    except DataError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    if status != health_pb2.HealthCheckResponse.SERVING:
        sys.stderr.write(f"{options.address}: {health_pb2.HealthCheckResponse.ServingStatus.Name(status)}\n")
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m mis_scoring.serving.health", description=__doc__.splitlines()[0], allow_abbrev=False
    )
    parser.add_argument("address", nargs="?", default="127.0.0.1:50051", help="default %(default)s")
    parser.add_argument("--ca-file", type=Path, help="PEM, who signed the certificate; none: no TLS")
    parser.add_argument("--server-name", default="", help="in the certificate, where the address is another")
    parser.add_argument("--timeout-s", type=float, default=5.0, help="default %(default)s")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
