"""A report page, for scripts and notebooks: it shows itself in a frame, and is saved as one file."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from experiments.notebook import asked

FRAME_PIXELS = 900


@dataclass(frozen=True)
class Reported:
    """A page of HTML that holds everything it shows. title: what it is of."""

    title: str
    html: str = field(repr=False)

    def save(self, path: str | Path = "report.html") -> Path:
        """Write the page, whole or not at all. Returns its path. Raises UserError where it cannot be written."""
        from experiments.output import write_file

        place = asked.path("path", path)
        write_file(place, self.html.encode())
        return place

    def _repr_html_(self) -> str:
        # A frame of its own: notebooks take scripts out of what they show again, and styles would meet theirs.
        return (
            f'<iframe title="{escape(self.title)}" srcdoc="{escape(self.html)}" width="100%" height="{FRAME_PIXELS}"'
            ' style="border: 0"></iframe>'
        )
