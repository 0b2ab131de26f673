"""A checkpoint's safetensors file, or its index, to the graph of the config beside it, every tensor being checked.

Only headers are read. What is no tensor of the model, missing, or of another shape or type than the config asks for is
told, all of it at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from patterns.checkpoint.compared import differences, totals
from patterns.checkpoint.header import refuse
from patterns.checkpoint.shards import INDEX_END, read_tensors
from patterns.errors import UserError
from patterns.graph import Graph
from patterns.graph_file.draft import NONE
from patterns.importer import Source
from patterns.importers import huggingface
from patterns.load import read_text

SUFFIXES = (".safetensors", INDEX_END)
CONFIG = "config.json"


def import_graph(file: Source, name: str, members: int = 1, overrides: Mapping[str, str] = NONE) -> Graph:
    """The graph of the config beside a checkpoint. Raises SpecError with all tensors that are not as it asks for."""
    config = _checked(file, name)
    return huggingface.import_graph(config, name, members, overrides)


def import_text(file: Source, name: str) -> str:
    """The graph file of the config beside a checkpoint. Raises as `import_graph` does."""
    return huggingface.import_text(_checked(file, name), name)


def remarks(file: Source) -> tuple[str, ...]:
    """How many tensors and elements there are."""
    return (totals(read_tensors(Path(str(file)))),)


def read_of(file: Source) -> bytes:
    """The config beside a checkpoint, and the names, types and shapes of its tensors. Raises OSError, UserErrors."""
    path = Path(str(file))
    return path.with_name(CONFIG).read_bytes() + repr(read_tensors(path)).encode()


def _checked(file: Source, name: str) -> Path:
    """The config beside a checkpoint. Raises SpecError, UserError."""
    path = Path(str(file))
    config = path.with_name(CONFIG)
    tensors = read_tensors(path)
    if not config.is_file():
        raise UserError(f"{path} has {totals(tensors)}; there is no {CONFIG} beside it to check them against")
    document = huggingface.text_document(read_text(config), str(config))
    if cast(dict[str, Any], document.data).get("quantization_config"):
        raise UserError(f"{path} has {totals(tensors)}; tensors of quantised models are not checked against {config}")
    graph = huggingface.config_graph(read_text(config), str(config), name)
    table = huggingface.architecture(document).STORED
    refuse(list(differences(str(path), tensors, graph, table, several_parts=bool(document.within))))
    return config
