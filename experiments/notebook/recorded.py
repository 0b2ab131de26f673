"""A recording of a real run, read: for scripts and notebooks, with the model beside it where that is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.notebook.asked import request_of
from patterns.graph import Graph

if TYPE_CHECKING:
    import pandas

    from experiments.profile.against import Against
    from experiments.profile.profiled import Profile

TOP = 10


@dataclass(frozen=True)
class Recorded:
    """What a recording shows. found: its account by device; beside: the model's answer, None if it was not asked.

    step: what was asked of steps.
    """

    file: str
    found: Profile = field(repr=False)
    beside: Against | None = field(default=None, repr=False)
    step: str = ""

    def to_dict(self) -> dict[str, Any]:
        """As `patternloom profile --json` prints it; times are in ns."""
        from experiments.profile.show_against import whole_record

        return whole_record(self.found, self.beside)

    def to_dataframe(self) -> pandas.DataFrame:
        """A row a class and a row a kernel's name, by device. Raises UserError without the extra `analysis`."""
        from experiments.frames import to_dataframe
        from experiments.profile.record import profile_rows

        return to_dataframe(profile_rows(self.found))

    def save(self, path: str | Path = "profile.html", top: int = TOP) -> Path:
        """Write the page of `patternloom profile -o`, whole or not at all. Returns its path. top: kernels by name.

        Raises UserError where it cannot be written.
        """
        from experiments.output import write_file
        from experiments.page.recorded import recorded_page
        from experiments.profile.pictures import charts, inside_pages

        pictures = inside_pages(charts(self.found, self.beside), {})
        write_file(Path(path), recorded_page(self.found, self.beside, top, self.step, pictures))
        return Path(path)

    def _repr_html_(self) -> str:
        from experiments.page.parts import parts_markup
        from experiments.profile.show_against import whole_parts

        return str(parts_markup(whole_parts(self.found, self.beside, TOP)))


def recorded(file: Path, step: str, workload: str | Path | Graph | None, asked: Mapping[str, Any]) -> Recorded:
    """Read a recording, and ask the model where a workload is given. Raises UserErrors."""
    from experiments.profile.profiled import profile
    from experiments.profile.read import read_recording
    from experiments.profile.steps import compiled

    compiled(step)
    request = request_of(workload, asked) if workload else None
    found = profile(read_recording(file), step)
    if request is None:
        return Recorded(str(file), found, None, step)
    from experiments.profile.against import against

    graph = workload if isinstance(workload, Graph) else None
    return Recorded(str(file), found, against(found, request, list(asked), graph), step)
