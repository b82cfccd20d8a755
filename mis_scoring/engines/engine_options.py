"""What an engine's settings have in common: made of options by name, refused with all that is wrong with them."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

from mis_scoring.core.errors import DataError


@dataclass(frozen=True, kw_only=True)
class EngineOptions:
    """Settings of one engine; each of its own is a field with a default."""

    engine: ClassVar[str]

    def __post_init__(self) -> None:
        """Refuse what is out of bounds, all at once."""
        if faults := self.faults():
            raise DataError("\n".join([f"the options of engine {self.engine!r}:", *(f"  - {one}" for one in faults)]))

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Self:
        """Return the settings of options by name.

        Raises:
            DataError: lists every option that is unknown or out of bounds.
        """
        known = {field.name for field in fields(cls)}
        if unknown := sorted(set(options) - known):
            raise DataError(
                f"engine {cls.engine!r} has no option {', '.join(unknown)}; known: {', '.join(sorted(known))}"
            )
        return cls(**options)

    def faults(self) -> list[str]:
        """Return what is out of bounds, with what would not be."""
        raise NotImplementedError
