"""What a file may say: the pydantic models of a graph in YAML."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class NodeSpec(BaseModel):
    """A node as written. Kinds add their own fields.

    `fn`, `over` and `along` become the fields of Node; every other field that is given is one of its arguments.
    """

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    kind: str
    reads: list[str]
    writes: str | None = None
