"""A validation as JSON, for other programs."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from experiments.validate import Validation
    from experiments.validation.row import Compared


def validation_json(validation: Validation) -> str:
    """Families with their accuracy, those without rows left out; and every row that was predicted."""
    families = {found.name: asdict(found.accuracy) for found in validation.families if found.accuracy}
    rows = [row_record(compared) for found in validation.families for compared in found.compared]
    return json.dumps({"families": families, "rows": rows}, indent=2, allow_nan=False) + "\n"


def row_record(compared: Compared) -> dict[str, object]:
    """One row as JSON data: a range as two numbers; what is no target says so, and what explains it."""
    row = compared.row
    record = {
        "family": row.family,
        "id": row.id,
        "predicted": compared.predicted,
        "measured": row.measured if row.to is None else [row.measured, row.to],
        "unit": row.unit,
        "source": row.source,
    }
    beside = {} if row.target else {"target": False}
    return {**record, **beside, **({"explanation": compared.explanation} if compared.explanation else {})}
