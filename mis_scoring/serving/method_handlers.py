"""The methods of the service as gRPC serves them: a message that is no such protobuf reaches its method as None.

The generated handlers would answer UNKNOWN to it, which says that the server is at fault.
"""

from collections.abc import Callable
from typing import Any

import grpc

from mis_scoring.serving import scoring_pb2 as pb
from mis_scoring.serving.messages import parser_of


def method_handlers(service: Any, name: str) -> Any:
    """Return the generic handler of a `ScoringService`, by the service's full name."""
    answer: Callable[[Any], bytes] = pb.ScoreResponse.SerializeToString
    methods = {
        "Score": grpc.unary_unary_rpc_method_handler(service.Score, parser_of(pb.ScoreRequest), answer),
        "ScoreStream": grpc.stream_stream_rpc_method_handler(service.ScoreStream, parser_of(pb.ScorePart), answer),
        "Describe": grpc.unary_unary_rpc_method_handler(
            service.Describe, parser_of(pb.DescribeRequest), pb.DescribeResponse.SerializeToString
        ),
    }
    return grpc.method_handlers_generic_handler(name, methods)
