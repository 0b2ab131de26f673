"""A picture as files, for scripts and notebooks: it shows itself, and is saved whole."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from experiments.compare import Comparison


@dataclass(frozen=True)
class Plotted:
    """A plot of one kind: its files by name, with the plotted data beside the pictures."""

    kind: str
    files: tuple[tuple[str, bytes], ...] = field(repr=False)

    def save(self, folder: str | Path) -> tuple[Path, ...]:
        """Write every file into a folder, which is made if need be. Returns the paths. Raises UserError."""
        from experiments.output import write_folder

        return write_folder(Path(folder), dict(self.files))

    @property
    def data_csv(self) -> str:
        """What the picture shows, as CSV."""
        return dict(self.files)[f"{self.kind}.csv"].decode()

    def _repr_svg_(self) -> str:
        return dict(self.files)[f"{self.kind}.svg"].decode()


def plotted(comparison: Comparison, kind: str) -> Plotted:
    """A comparison drawn as one kind of plot. Raises UnknownName."""
    from experiments.picture import check_kinds, drawn

    check_kinds((kind,))
    return Plotted(kind, tuple(drawn(comparison, (kind,)).items()))
