"""Fails unless everything that comes along is read from where it is installed: python -W error -P .ci/installed.py."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path


def main() -> None:
    """Read every file, import every module that a folder offers, run one comparison and write it in every form."""
    from experiments import api
    from experiments.catalogue import SECTION_ENTRIES
    from experiments.documented.tables import TABLES
    from experiments.study import study_names
    from experiments.sweep.examples import example_names, sweep_file
    from experiments.sweep.read import read_sweep
    from patterns.library import names

    found = {section: len(entries()) for section, entries in SECTION_ENTRIES.items()}
    graphs = [api.load(name) for name in names()]
    sweeps = [read_sweep(sweep_file(name)) for name in example_names()]
    studies = [import_module(f"experiments.studies.{name}") for name in study_names()]
    tables = [table() for name, table in TABLES.items() if name != "claims"]
    comparison = api.compare("softmax", policies=("library",), modes=("looped",))
    written = [*dict(api.plot(comparison, "fusion").files), api.report(comparison).html, comparison._repr_html_()]
    rows = api.sweep({"fixed": {"workload": "softmax", "machine": "sn40l"}, "grid": {"rows": [64, 128]}}, jobs=1)
    assert not rows.failed
    assert all(found.values()), found
    assert all((graphs, sweeps, studies, tables, written))
    print(
        f"{Path(api.__file__).parents[1]}: {found}, {len(studies)} studies, {len(tables)} tables; Python {sys.version}"
    )


if __name__ == "__main__":
    main()
