"""Sizes that tell afterwards which of them were looked at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping


class Watched(Mapping[str, int]):
    """A mapping of sizes that notes in `asked` each name whose size is looked at; which names there are is free."""

    def __init__(self, sizes: Mapping[str, int], asked: set[str]) -> None:
        self._sizes, self._asked = sizes, asked

    def __getitem__(self, name: str) -> int:
        found = self._sizes[name]
        self._asked.add(name)
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._sizes

    def __iter__(self) -> Iterator[str]:
        return iter(self._sizes)

    def __len__(self) -> int:
        return len(self._sizes)
