"""Dims before they have names: atoms, which are found to be the same, or to be made of smaller ones.

An axis of an ONNX value is a tuple of atoms, outermost first: () is an axis of extent 1 that no dim stands for, two
atoms are what a reshape merged. A reshape that divides an atom divides it in every tensor: a weight becomes
[hidden, heads, head_dim], and nothing is moved.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

Axis = tuple[int, ...]


class Atoms:
    """A union-find over atoms. Two atoms that one node or tensor has side by side are never the same."""

    def __init__(self) -> None:
        self._parent: list[int] = []
        self._size: list[int] = []
        self._parts: dict[int, Axis] = {}
        self._together: list[set[int]] = []
        self._whole: set[int] = set()
        self._groups = 0
        self._hints: list[tuple[int, str]] = []

    def new(self, size: int, hint: str = "", weight: int = 0) -> int:
        """A new atom; of the hints of what turns out the same, the one of most weight names it."""
        self._parent.append(len(self._parent))
        self._size.append(size)
        self._together.append(set())
        self._hints.append((weight, hint))
        return len(self._parent) - 1

    def root(self, atom: int) -> int:
        """The atom that stands for all that are the same."""
        while self._parent[atom] != atom:
            self._parent[atom] = self._parent[self._parent[atom]]
            atom = self._parent[atom]
        return atom

    def resolved(self, axis: Iterable[int]) -> Axis:
        """The axis in atoms that are not divided, each the root of its class."""
        found: list[int] = []
        for atom in axis:
            top = self.root(atom)
            found += self.resolved(self._parts[top]) if top in self._parts else (top,)
        return tuple(found)

    def size(self, axis: Iterable[int]) -> int:
        """Points along an axis."""
        return prod(self._size[self.root(atom)] for atom in axis)

    def hint(self, atom: int) -> tuple[int, str]:
        """(weight, name) that an atom would like."""
        return self._hints[self.root(atom)]

    def suggest(self, atom: int, hint: str, weight: int) -> None:
        """Name an undivided atom, unless a better name is known."""
        top = self.root(atom)
        self._hints[top] = max(self._hints[top], (weight, hint), key=lambda pair: pair[0])

    def keep_whole(self, atom: int) -> None:
        """An atom that something moves along: it cannot be divided any more."""
        self._whole.add(self.root(atom))

    def set_apart(self, atoms: Iterable[int]) -> None:
        """What one node or tensor has: never the same."""
        self._groups += 1
        for atom in self.resolved(atoms):
            self._together[atom].add(self._groups)

    def unite(self, left: int, right: int) -> bool:
        """Make two undivided atoms the same; whether they may be."""
        left, right = self.root(left), self.root(right)
        if left == right:
            return True
        if self._size[left] != self._size[right] or self._together[left] & self._together[right]:
            return False
        self._parent[right] = left
        self._together[left] |= self._together[right]
        self._hints[left] = max(self._hints[left], self._hints[right], key=lambda pair: pair[0])
        if right in self._whole:
            self._whole.add(left)
        return True

    def divide(self, atom: int, outer: int) -> Axis | None:
        """The two atoms that an undivided atom is made of, the outer of extent `outer`; None if it is to stay whole."""
        atom = self.root(atom)
        if atom in self._whole or self._size[atom] % outer:
            return None
        parts = (self.new(outer), self.new(self._size[atom] // outer))
        for part in parts:
            self._together[part] = set(self._together[atom])
        # The two are side by side from now on.
        self.set_apart(parts)
        self._parts[atom] = parts
        return parts

    def align(self, left: Axis, right: Axis) -> bool:
        """Divide the atoms of two axes until they pair up by extent; whether they do. Nothing is made the same."""
        a, b = list(self.resolved(left)), list(self.resolved(right))
        while a and b:
            first, other = self._size[a[0]], self._size[b[0]]
            if first == other:
                a.pop(0)
                b.pop(0)
                continue
            longer, outer = (a, other) if first > other else (b, first)
            parts = self.divide(longer[0], outer)
            if parts is None:
                return False
            # One class may be in both axes.
            a, b = list(self.resolved(a)), list(self.resolved(b))
        return not a and not b
