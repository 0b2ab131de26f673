"""The notebook of the documentation runs from its first cell to its last, without a warning."""

from __future__ import annotations

from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "quickstart.md"


def test_the_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import jupytext
    from nbclient import NotebookClient

    # Warnings of this project's code are errors in the kernel; those of the notebook's own machinery are not ours.
    monkeypatch.setenv("PYTHONWARNINGS", "error::DeprecationWarning:experiments,error::SyntaxWarning")
    monkeypatch.setenv("PYTHONPATH", str(PAGE.parents[1]))
    notebook = jupytext.read(PAGE)
    NotebookClient(notebook, timeout=60, kernel_name="python3", resources={"metadata": {"path": tmp_path}}).execute()
    shown = [output.data for cell in notebook.cells for output in cell.get("outputs", ()) if "data" in output]
    forms = [form for data in shown for form in data]
    assert len(shown) >= 11
    assert forms.count("image/svg+xml") == 3
    assert forms.count("text/html") >= 7
    frames = [data["text/html"] for data in shown if "<iframe" in data.get("text/html", "")]
    assert len(frames) == 1
