"""A picture as files, for scripts and notebooks: it shows itself, and is saved whole."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from experiments.compare import Comparison
    from experiments.picture import Picture


@dataclass(frozen=True)
class Plotted:
    """A plot of one kind. Files are made when they are asked for: saving makes all, showing only what is shown."""

    kind: str
    picture: Picture = field(repr=False)

    @cached_property
    def files(self) -> tuple[tuple[str, bytes], ...]:
        """Its files by name: PNG, SVG and PDF, for two columns and for one, and the plotted data as CSV."""
        from experiments.picture import in_style, picture_files

        with in_style():
            return tuple(picture_files(self.kind, self.picture))

    def save(self, folder: str | Path) -> tuple[Path, ...]:
        """Write every file into a folder, which is made if need be. Returns the paths. Raises UserError."""
        from experiments.output import write_folder

        return write_folder(Path(folder), dict(self.files))

    @property
    def data_csv(self) -> str:
        """What the picture shows, as CSV."""
        from experiments.export import records_csv

        return records_csv(self.picture.rows)

    def _repr_svg_(self) -> str:
        from experiments.picture import in_style, rendered

        with in_style():
            ((_, content),) = rendered(self.picture.figure, self.kind, ("svg",))
        return content.decode()


def plotted(comparison: Comparison, kind: str) -> Plotted:
    """A comparison drawn as one kind of plot. Raises UnknownName."""
    from experiments.picture import check_kinds, drawn_picture, in_style

    check_kinds((kind,))
    with in_style():
        return Plotted(*drawn_picture(kind, comparison))
