"""The methods of the service as gRPC serves them: a message that is no such protobuf reaches its method as None.

The generated handlers would answer UNKNOWN to it, which says that the server is at fault.
"""

from collections.abc import Callable
from typing import Any

import grpc
from google.protobuf.message import DecodeError

from mis_scoring.serving import scoring_pb2 as pb


def method_handlers(service: Any, name: str) -> Any:
    """Return the generic handler of a `ScoringService`, by the service's full name."""
    answer: Callable[[Any], bytes] = pb.ScoreResponse.SerializeToString
    methods = {
        "Score": grpc.unary_unary_rpc_method_handler(service.Score, _parser_of(pb.ScoreRequest), answer),
        "ScoreStream": grpc.stream_stream_rpc_method_handler(service.ScoreStream, _parser_of(pb.ScorePart), answer),
        "Describe": grpc.unary_unary_rpc_method_handler(
            service.Describe, _parser_of(pb.DescribeRequest), pb.DescribeResponse.SerializeToString
        ),
    }
    return grpc.method_handlers_generic_handler(name, methods)


def _parser_of(kind: Any) -> Callable[[bytes], Any]:
    def parse(message: bytes) -> Any:
        try:
            return kind.FromString(message)
        except DecodeError:
            return None

    return parse
