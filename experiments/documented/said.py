"""What is said of one name that a file may have or a table has."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Said:
    """A name, what it means, its unit ('-' for none), the values it may have, and what holds where it is left out."""

    name: str
    text: str
    unit: str
    values: str
    default: str = ""
