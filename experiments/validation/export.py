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
    """One row as JSON data."""
    row = compared.row
    return {
        "family": row.family,
        "id": row.id,
        "predicted": compared.predicted,
        "measured": row.measured,
        "unit": row.unit,
        "source": row.source,
    }
