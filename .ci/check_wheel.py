"""Fails unless a built wheel holds every data file of the packages, and nothing but the four packages."""

from __future__ import annotations

import sys
from pathlib import Path
from zipfile import ZipFile

PACKAGES = ("patterns", "gpu_model", "rdu_model", "experiments")
DATA = (".yaml", ".json", ".mplstyle", ".typed", ".csv", ".html", ".css", ".js")
# Kinds of files that the packages have: a wheel without one of them is broken.
KINDS = (".py", ".yaml", ".json", ".mplstyle", ".html", ".css", ".js")


def main(wheel: str) -> None:
    """Compare the names in the wheel with the files in the checkout."""
    names = set(ZipFile(wheel).namelist())
    data = {
        str(p) for package in PACKAGES for p in Path(package).rglob("*") if p.suffix in DATA or p.name == "py.typed"
    }
    missing = sorted(data - names)
    stray = sorted(n for n in names if n.split("/")[0] not in PACKAGES and ".dist-info/" not in n)
    kinds = {suffix: sum(name.endswith(suffix) for name in names) for suffix in KINDS}
    if missing or stray or not all(kinds.values()):
        sys.exit(f"{wheel}: missing {missing}, stray {stray}, files by kind {kinds}")
    print(f"{Path(wheel).name}: {len(names)} files, {kinds}")


if __name__ == "__main__":
    main(sys.argv[1])
