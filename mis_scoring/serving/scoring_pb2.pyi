from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ScoreRequest(_message.Message):
    __slots__ = ("artifact_id", "query", "items")
    ARTIFACT_ID_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    artifact_id: str
    query: str
    items: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, artifact_id: _Optional[str] = ..., query: _Optional[str] = ..., items: _Optional[_Iterable[str]] = ...) -> None: ...

class ScorePart(_message.Message):
    __slots__ = ("query", "items")
    QUERY_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    query: Query
    items: Items
    def __init__(self, query: _Optional[_Union[Query, _Mapping]] = ..., items: _Optional[_Union[Items, _Mapping]] = ...) -> None: ...

class Query(_message.Message):
    __slots__ = ("artifact_id", "query")
    ARTIFACT_ID_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    artifact_id: str
    query: str
    def __init__(self, artifact_id: _Optional[str] = ..., query: _Optional[str] = ...) -> None: ...

class Items(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, items: _Optional[_Iterable[str]] = ...) -> None: ...

class ScoreResponse(_message.Message):
    __slots__ = ("margins", "scores", "from_reference", "artifact_id", "scorer_id", "engine", "tokens", "tie_tokens")
    MARGINS_FIELD_NUMBER: _ClassVar[int]
    SCORES_FIELD_NUMBER: _ClassVar[int]
    FROM_REFERENCE_FIELD_NUMBER: _ClassVar[int]
    ARTIFACT_ID_FIELD_NUMBER: _ClassVar[int]
    SCORER_ID_FIELD_NUMBER: _ClassVar[int]
    ENGINE_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    TIE_TOKENS_FIELD_NUMBER: _ClassVar[int]
    margins: _containers.RepeatedScalarFieldContainer[float]
    scores: _containers.RepeatedScalarFieldContainer[float]
    from_reference: _containers.RepeatedScalarFieldContainer[bool]
    artifact_id: str
    scorer_id: str
    engine: str
    tokens: int
    tie_tokens: int
    def __init__(self, margins: _Optional[_Iterable[float]] = ..., scores: _Optional[_Iterable[float]] = ..., from_reference: _Optional[_Iterable[bool]] = ..., artifact_id: _Optional[str] = ..., scorer_id: _Optional[str] = ..., engine: _Optional[str] = ..., tokens: _Optional[int] = ..., tie_tokens: _Optional[int] = ...) -> None: ...

class DescribeRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class DescribeResponse(_message.Message):
    __slots__ = ("artifact_id", "scorer_id", "threshold", "engine", "limits")
    ARTIFACT_ID_FIELD_NUMBER: _ClassVar[int]
    SCORER_ID_FIELD_NUMBER: _ClassVar[int]
    THRESHOLD_FIELD_NUMBER: _ClassVar[int]
    ENGINE_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    artifact_id: str
    scorer_id: str
    threshold: float
    engine: str
    limits: Limits
    def __init__(self, artifact_id: _Optional[str] = ..., scorer_id: _Optional[str] = ..., threshold: _Optional[float] = ..., engine: _Optional[str] = ..., limits: _Optional[_Union[Limits, _Mapping]] = ...) -> None: ...

class Limits(_message.Message):
    __slots__ = ("items", "pair_tokens", "message_bytes", "requests")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    PAIR_TOKENS_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_BYTES_FIELD_NUMBER: _ClassVar[int]
    REQUESTS_FIELD_NUMBER: _ClassVar[int]
    items: int
    pair_tokens: int
    message_bytes: int
    requests: int
    def __init__(self, items: _Optional[int] = ..., pair_tokens: _Optional[int] = ..., message_bytes: _Optional[int] = ..., requests: _Optional[int] = ...) -> None: ...
