"""The guide to metapipes: every line that it shows is run, and prints what it shows."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "metapipes.md"
SESSION = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_guide_runs_as_shown() -> None:
    text = "\n".join(SESSION.findall(GUIDE.read_text(encoding="utf-8")))
    session = doctest.DocTestParser().get_doctest(text, {}, "metapipes", str(GUIDE), 0)
    assert len(session.examples) > 40
    assert doctest.DocTestRunner().run(session).failed == 0


def test_the_readme_leads_to_the_guide() -> None:
    assert "(docs/metapipes.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
