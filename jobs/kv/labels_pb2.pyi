from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class GetLabelsRequest(_message.Message):
    __slots__ = ("member_id",)
    MEMBER_ID_FIELD_NUMBER: _ClassVar[int]
    member_id: str
    def __init__(self, member_id: _Optional[str] = ...) -> None: ...

class Label(_message.Message):
    __slots__ = ("qualification_id", "score")
    QUALIFICATION_ID_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    qualification_id: str
    score: float
    def __init__(self, qualification_id: _Optional[str] = ..., score: _Optional[float] = ...) -> None: ...

class MemberLabels(_message.Message):
    __slots__ = ("member_id", "labels", "run_id", "profile_version", "labels_version", "published_at", "position")
    MEMBER_ID_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    PROFILE_VERSION_FIELD_NUMBER: _ClassVar[int]
    LABELS_VERSION_FIELD_NUMBER: _ClassVar[int]
    PUBLISHED_AT_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    member_id: str
    labels: _containers.RepeatedCompositeFieldContainer[Label]
    run_id: str
    profile_version: int
    labels_version: int
    published_at: str
    position: Position
    def __init__(self, member_id: _Optional[str] = ..., labels: _Optional[_Iterable[_Union[Label, _Mapping]]] = ..., run_id: _Optional[str] = ..., profile_version: _Optional[int] = ..., labels_version: _Optional[int] = ..., published_at: _Optional[str] = ..., position: _Optional[_Union[Position, _Mapping]] = ...) -> None: ...

class Position(_message.Message):
    __slots__ = ("labels_version", "published_at")
    LABELS_VERSION_FIELD_NUMBER: _ClassVar[int]
    PUBLISHED_AT_FIELD_NUMBER: _ClassVar[int]
    labels_version: int
    published_at: str
    def __init__(self, labels_version: _Optional[int] = ..., published_at: _Optional[str] = ...) -> None: ...
