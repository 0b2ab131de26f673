"""A picture as files, for scripts and notebooks: it shows itself, and is saved whole."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.notebook import asked

if TYPE_CHECKING:
    from experiments.compare import Comparison
    from experiments.floorplan import Floorplan
    from experiments.picture import Picture


@dataclass(frozen=True)
class Plotted:
    """A plot of one kind. Files are made when they are asked for: saving makes all, showing only what is shown.

    rows: what it shows. Where it is copied or sent to another process, its files are.
    """

    kind: str
    rows: tuple[dict[str, object], ...] = field(repr=False)
    picture: Picture | None = field(repr=False, compare=False)

    @cached_property
    def files(self) -> tuple[tuple[str, bytes], ...]:
        """Its files by name: PNG, SVG and PDF, for two columns and for one, and the plotted data as CSV."""
        from experiments.picture import in_style, picture_files

        assert self.picture is not None, "files come with what has no picture"
        with in_style():
            return tuple(picture_files(self.kind, self.picture))

    def save(self, folder: str | Path) -> tuple[Path, ...]:
        """Write every file into a folder, which is made if need be. Returns the paths. Raises UserError."""
        from experiments.output import write_folder

        return write_folder(asked.path("folder", folder), dict(self.files))

    @property
    def data_csv(self) -> str:
        """What the picture shows, as CSV."""
        from experiments.export import records_csv

        return records_csv(self.rows)

    def __getstate__(self) -> dict[str, Any]:
        return {"kind": self.kind, "rows": self.rows, "picture": None, "files": self.files}

    def _repr_svg_(self) -> str:
        from experiments.picture import in_style, rendered

        if self.picture is None:
            return dict(self.files)[f"{self.kind}.svg"].decode()
        with in_style():
            ((_, content),) = rendered(self.picture.figure, self.kind, ("svg",))
        return content.decode()


def plotted(subject: Comparison | Floorplan, kind: str) -> Plotted:
    """A comparison or a floorplan drawn as one kind of plot."""
    from experiments.picture import drawn_picture, in_style

    with in_style():
        kind, picture = drawn_picture(kind, subject)
    return Plotted(kind, picture.rows, picture)
