"""Messages as they come: what is no protobuf of its kind is for the method to answer, not a fault of gRPC's parser."""

from collections.abc import Callable
from typing import Any

from google.protobuf.message import DecodeError


def parser_of(kind: Any, *, malformed: Any = None) -> Callable[[bytes], Any]:
    """Return the parser of a kind of message.

    Args:
        malformed: what stands for bytes that are none of the kind.
    """

    def parse(message: bytes) -> Any:
        try:
            return kind.FromString(message)
        except DecodeError:
            return malformed

    return parse
