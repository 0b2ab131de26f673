"""Frozen values that are keys of memos: their hash is computed once."""

from __future__ import annotations

from typing import Any, TypeVar

Frozen = TypeVar("Frozen")
_KEPT = "_hash"


def hashed_once(cls: type[Frozen]) -> type[Frozen]:
    """The frozen dataclass with its hash kept beside its fields. Copies in other processes have their own.

    A memo that is asked for the same deep value again and again otherwise spends its time on hashing.
    """
    computed = cls.__hash__

    def kept(self: Any) -> int:
        own: dict[str, Any] = self.__dict__
        if _KEPT not in own:
            own[_KEPT] = computed(self)
        return int(own[_KEPT])

    def state(self: Any) -> dict[str, Any]:
        # Hashes of text differ from process to process.
        return {name: value for name, value in self.__dict__.items() if name != _KEPT}

    setattr(cls, "__hash__", kept)  # noqa: B010  mypy knows __hash__ as no attribute to be set
    setattr(cls, "__getstate__", state)  # noqa: B010
    return cls
