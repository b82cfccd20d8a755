from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Outcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    OUTCOME_UNSPECIFIED: _ClassVar[Outcome]
    OUTCOME_ACCEPTED: _ClassVar[Outcome]
    OUTCOME_SUPERSEDED: _ClassVar[Outcome]
    OUTCOME_REPEATED: _ClassVar[Outcome]
OUTCOME_UNSPECIFIED: Outcome
OUTCOME_ACCEPTED: Outcome
OUTCOME_SUPERSEDED: Outcome
OUTCOME_REPEATED: Outcome

class ProfileUpdate(_message.Message):
    __slots__ = ("member_id", "profile_version", "profile_text", "removed")
    MEMBER_ID_FIELD_NUMBER: _ClassVar[int]
    PROFILE_VERSION_FIELD_NUMBER: _ClassVar[int]
    PROFILE_TEXT_FIELD_NUMBER: _ClassVar[int]
    REMOVED_FIELD_NUMBER: _ClassVar[int]
    member_id: str
    profile_version: int
    profile_text: str
    removed: Removed
    def __init__(self, member_id: _Optional[str] = ..., profile_version: _Optional[int] = ..., profile_text: _Optional[str] = ..., removed: _Optional[_Union[Removed, _Mapping]] = ...) -> None: ...

class Removed(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Acknowledgement(_message.Message):
    __slots__ = ("member_id", "profile_version", "outcome")
    MEMBER_ID_FIELD_NUMBER: _ClassVar[int]
    PROFILE_VERSION_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    member_id: str
    profile_version: int
    outcome: Outcome
    def __init__(self, member_id: _Optional[str] = ..., profile_version: _Optional[int] = ..., outcome: _Optional[_Union[Outcome, str]] = ...) -> None: ...

class UpdateProfilesRequest(_message.Message):
    __slots__ = ("updates",)
    UPDATES_FIELD_NUMBER: _ClassVar[int]
    updates: _containers.RepeatedCompositeFieldContainer[ProfileUpdate]
    def __init__(self, updates: _Optional[_Iterable[_Union[ProfileUpdate, _Mapping]]] = ...) -> None: ...

class UpdateProfilesResponse(_message.Message):
    __slots__ = ("acknowledgements",)
    ACKNOWLEDGEMENTS_FIELD_NUMBER: _ClassVar[int]
    acknowledgements: _containers.RepeatedCompositeFieldContainer[Acknowledgement]
    def __init__(self, acknowledgements: _Optional[_Iterable[_Union[Acknowledgement, _Mapping]]] = ...) -> None: ...
