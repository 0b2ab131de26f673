"""All tensors of a checkpoint: of one file, or of the files that an index names."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from patterns.checkpoint.header import StoredTensor, at, read_header, refuse
from patterns.documents.json_document import Repeated, unrepeated
from patterns.errors import Mistake, SpecError, UserError

INDEX_END = ".safetensors.index.json"
# The index of the largest models has a hundred thousand tensors.
MOST_INDEX_BYTES = 100_000_000
_SHARD = re.compile(r"(?P<stem>.+)-\d+-of-\d+\.safetensors")


def read_tensors(path: Path) -> tuple[StoredTensor, ...]:
    """Every tensor of a checkpoint: `path` is its one file or its index. Raises SpecError, UserError."""
    if path.name.endswith(INDEX_END):
        return _of_index(path)
    shard = _SHARD.fullmatch(path.name)
    index = path.with_name(shard["stem"] + INDEX_END) if shard else path
    if shard:
        hint = f"check {index}" if index.is_file() else f"{index.name} is missing beside it"
        raise UserError(f"{path} is one of several files of a checkpoint; its index says which: {hint}")
    return read_header(path)


def _of_index(path: Path) -> tuple[StoredTensor, ...]:
    named = _weight_map(path)
    files = sorted(set(named.values()))
    mistakes = [at(str(path), "", f"its file {name!r} is not there") for name in files if not _beside(path, name)]
    refuse(mistakes)
    tensors: list[StoredTensor] = []
    for name in files:
        found = read_header(path.with_name(name))
        tensors += found
        inside = {tensor.name for tensor in found}
        due = {tensor for tensor, file in named.items() if file == name}
        mistakes += [at(str(path), tensor, f"is not in {name}") for tensor in sorted(due - inside)]
        mistakes += [at(str(path), tensor, f"is in {name}, and not in the index") for tensor in sorted(inside - due)]
    refuse(mistakes)
    return tuple(tensors)


def _beside(path: Path, name: str) -> bool:
    """Whether a file of this name is in the same folder: an index names no other."""
    return Path(name).name == name and path.with_name(name).is_file()


def _weight_map(path: Path) -> dict[str, str]:
    """The file of every tensor. Raises SpecError."""
    data: Any = None
    wrong = f"an index is a JSON object of at most {MOST_INDEX_BYTES:,} bytes with a 'weight_map' of tensors and files"
    try:
        with path.open("rb") as stream:
            text = stream.read(MOST_INDEX_BYTES + 1)
        if len(text) <= MOST_INDEX_BYTES:
            data = json.loads(text.decode("utf-8-sig"), object_pairs_hook=unrepeated)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from None
    except Repeated as error:
        wrong += f": {str(error)!r} is there twice"
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError, ValueError) as error:
        wrong += f": {error}"
    found = data.get("weight_map") if isinstance(data, dict) else None
    if isinstance(found, dict) and found and all(isinstance(file, str) for file in found.values()):
        return found
    raise SpecError([Mistake(str(path), 1, 1, "", wrong)])
