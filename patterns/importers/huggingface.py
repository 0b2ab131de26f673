"""A model's config.json, as Hugging Face writes it, to the graph of its architecture.

Only what fixes shapes, sharing and element types is read; a field that would change what is computed in a way that the
architecture's file does not know is refused, everything else is ignored. Of a model of several parts (images and text,
say) the text part is read: what stands under `text_config`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import PurePath
from typing import Any, cast

from patterns.architecture import Architecture, ConfigFields, architecture_of, names_in, supported
from patterns.decoder.fp8 import LEFT_OUT, with_fp8
from patterns.decoder.int4 import refusals, with_int4
from patterns.documents.json_document import read_json
from patterns.errors import UserError
from patterns.graph import Graph
from patterns.graph_file.draft import NONE, Draft
from patterns.importer import Source
from patterns.load import Document, read_text, validate
from patterns.quantization_config import FP8

SUFFIXES = (".json",)
TEXT_PART = "text_config"
# What a model of several parts may say once for all of them.
OF_WHOLE = ("torch_dtype", "dtype", "quantization_config")
# Numbers of members that a message names.
MOST_MEMBERS = 64


def import_graph(file: Source, name: str, members: int = 1, overrides: Mapping[str, str] = NONE) -> Graph:
    """The graph of a config.json, for one of `members`. overrides: extents of the graph, by name.

    Raises SpecError (not JSON, missing or wrong fields, an architecture that is not supported), UnknownName for an
    override of no extent.
    """
    return config_graph(read_text(file), str(file), name, members, overrides)


def import_text(file: Source, name: str) -> str:
    """The graph file of a config.json. Raises as `import_graph` does."""
    return config_draft(read_text(file), str(file), name).text


def config_graph(text: str, file: str, name: str, members: int = 1, overrides: Mapping[str, str] = NONE) -> Graph:
    """The graph of a config's text. Raises as `import_graph` does."""
    return _config_graph(text, file, name, members, tuple(overrides.items()))


@lru_cache(maxsize=256)
def _config_graph(text: str, file: str, name: str, members: int, overrides: tuple[tuple[str, str], ...]) -> Graph:
    """Memo of `config_graph`: points of a sweep that differ in machine and policy have one graph."""
    return config_draft(text, file, name, members).graph(dict(overrides))


@lru_cache(maxsize=64)
def config_draft(text: str, file: str, name: str, members: int = 1) -> Draft:
    """The draft of a config's text, made once for all its batches and contexts. Raises as `import_graph` does."""
    document = text_document(text, file)
    found = architecture(document)
    if document.within:
        document = replace(document, data={**found.Config.PART_DEFAULTS, **cast(dict[str, Any], document.data)})
    config = validate(found.Config, document)
    document.refuse([document.at((field,), message) for field, message in config.mistakes()])
    _need_divisible(name, config, members)
    draft = found.draft(config).of_dtype(config.element_type)
    if members > 1:
        draft = draft.extents(tensor_parallel=members)
    source = _source(document, found)
    if config.quantization_config:
        draft = _quantised(draft, config, document)
        source += f"; {LEFT_OUT}" if config.quantization_config.quant_method == FP8 else ""
    return draft.titled(name, source)


def text_document(text: str, file: str) -> Document:
    """A config's text as a document: the part of it that is about text, if it has parts. Raises SpecError."""
    document = read_json(text, file)
    data = document.data
    if not isinstance(data, dict):
        document.refuse([document.at((), "a model's config is a JSON object ({...})")])
    whole = cast(dict[str, Any], data)
    if not isinstance(whole.get(TEXT_PART), dict):
        return document
    part = document.part(TEXT_PART)
    of_whole = {name: whole[name] for name in OF_WHOLE if name in whole}
    return replace(part, data={**of_whole, **cast(dict[str, Any], part.data)})


def architecture(document: Document) -> Architecture:
    """The architecture of a config. Raises SpecError where none is named, or one that is not supported."""
    config = cast(dict[str, Any], document.data)
    found = architecture_of(config)
    if found is None:
        field = "model_type" if "model_type" in config and config.get("architectures") is None else "architectures"
        what = ", ".join(names_in(config)) or (str(config["model_type"]) if field == "model_type" else "")
        told = f"architecture {what} is not supported" if what else "'architectures' names no model"
        document.refuse([document.at((field,), f"{told}; supported: {', '.join(supported())}")])
        raise AssertionError(field)
    return found


def _quantised(draft: Draft, config: ConfigFields, document: Document) -> Draft:
    """The draft with the weights that `quantization_config` asks for. Raises SpecError where it cannot have them."""
    if config.quantization_config and config.quantization_config.quant_method == FP8:
        return with_fp8(draft)
    group = config.quantization_config.group_size if config.quantization_config else 0
    field = ("quantization_config",)
    document.refuse([document.at(field, why) for why in refusals(draft, group, draft.graph().sizes)][:1])
    return with_int4(draft, group, config.element_type)


def _source(document: Document, found: Architecture) -> str:
    """Where the graph is from: the config, and what describes its layers."""
    config = cast(dict[str, Any], document.data)
    named = names_in(config) or (str(config.get("model_type")),)
    part = " (only the text part is read)" if document.within else ""
    return f"{' '.join(named)}, as {PurePath(document.file).name} says{part}; layers as in {found.SOURCE}"


def _need_divisible(name: str, config: ConfigFields, members: int) -> None:
    """Raises UserError for members that cannot share the model, with the numbers that can."""
    unshared = config.unshared(members)
    if unshared:
        able = [str(n) for n in range(1, MOST_MEMBERS + 1) if not config.unshared(n)]
        raise UserError(f"{name}: {members} members cannot share {unshared} equally; {', '.join(able)} can")
