"""A chart of columns that a user asks for by options: which columns, drawn how."""

from __future__ import annotations

from dataclasses import dataclass, fields

from patterns.errors import UserError

# The option of a field, where it is not the field's name.
OPTIONS = {"turns_at": "--turns-at"}


@dataclass(frozen=True)
class Asked:
    """What the options say; '' and () where nothing. log: names of axes (x, y) that are logarithmic, or `value`."""

    kind: str
    name: str
    x: str = ""
    y: tuple[str, ...] = ()
    value: str = ""
    by: str = ""
    panel: str = ""
    bound: str = ""
    marks: str = ""
    title: str = ""
    log: tuple[str, ...] = ()
    stacked: bool = False
    turns_at: float | None = None

    def only(self, needed: tuple[str, ...], allowed: tuple[str, ...] = (), logs: tuple[str, ...] = ()) -> None:
        """Raises UserError unless all that is needed is asked for, and nothing that says nothing to this kind."""
        missing = [_option(name) for name in needed if not getattr(self, name)]
        if missing:
            raise UserError(f"a plot of kind {self.kind} needs {' and '.join(missing)}: columns of the data")
        known = {"kind", "name", "title", "log", *needed, *allowed}
        over = [_option(f.name) for f in fields(self) if f.name not in known and getattr(self, f.name) not in NOTHING]
        if over:
            raise UserError(f"{', '.join(over)}: says nothing to a plot of kind {self.kind}")
        if wrong := [axis for axis in self.log if axis not in logs]:
            can = f"; it can be {' or '.join(logs)}" if logs else ""
            raise UserError(f"--log {wrong[0]}: says nothing to a plot of kind {self.kind}{can}")

    @property
    def one_y(self) -> str:
        """The column of --y. Raises UserError for several."""
        if len(self.y) > 1:
            raise UserError(f"a plot of kind {self.kind} has one --y; --by draws several lines")
        return self.y[0]


NOTHING = ("", (), False, None)


def _option(field: str) -> str:
    return OPTIONS.get(field, f"--{field}")
