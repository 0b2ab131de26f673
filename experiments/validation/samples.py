"""Rows of measured tables as typed records, one sort a function. Columns may be those of the database or our own.

GEMM (gemm*): gpu, library, gemm_dtype, m, n, k, latency_us. Attention (attention*, context_attention*,
generation_attention*): gpu, library, phase (context or generation), batch_size, isl, step, num_heads,
num_key_value_heads, head_dim, kernel_source, latency_us. All-reduce (custom_allreduce*, allreduce*): gpu, library,
num_gpus, elements_bf16, latency_us. The database writes `latency`, in ms, for latency_us, and message_size for
elements_bf16; gpu, library and phase follow from the file's place and name there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from math import inf
from typing import TypeVar

from experiments.validation.tables import MACHINES, Columns, Table, Tables
from patterns.errors import UserError

Number = TypeVar("Number", int, float)
US_PER_MS = 1000
# The database's libraries; a table of any other is a team's own.
DATABASE_LIBRARIES = ("trtllm", "vllm", "sglang")
DTYPES = {"bfloat16": "bf16", "bf16": "bf16", "float16": "fp16", "fp16": "fp16", "half": "fp16", "fp8": "fp8"}


@dataclass(frozen=True)
class GemmSample:
    """y[m, n] = x[m, k] w[k, n]."""

    gpu: str
    library: str
    dtype: str
    m: int
    n: int
    k: int
    latency_us: float


@dataclass(frozen=True)
class AttentionSample:
    """context: isl new tokens a sequence. generation: one new token, `step` tokens in the cache before it."""

    gpu: str
    library: str
    phase: str
    batch: int
    isl: int
    step: int
    heads: int
    kv_heads: int
    head_dim: int
    kernel: str
    latency_us: float


@dataclass(frozen=True)
class AllReduceSample:
    """A sum of bf16 elements over `members` GPUs."""

    gpu: str
    library: str
    members: int
    elements: int
    latency_us: float


def gemm_samples(tables: Tables, library: str) -> list[GemmSample]:
    """GEMMs of dtypes that the model has. Of the database's libraries only this one's. Raises UserError."""
    names = ("gpu", "library", "gemm_dtype", "m", "n", "k", "latency_us", "latency")
    samples: list[GemmSample] = []
    for rows in _tables(tables.beginning("gemm"), library, names, {}, {"gemm_dtype": DTYPES}):
        dtypes = (DTYPES[text] for text in rows.texts("gemm_dtype"))
        shape = (rows.counts("m"), rows.counts("n"), rows.counts("k"))
        samples += map(GemmSample, rows.gpus, rows.libraries, dtypes, *shape, rows.latencies_us)
    return samples


def gemms_of_other_dtypes(tables: Tables, library: str) -> Mapping[str, int]:
    """Rows that gemm_samples leaves out, by their dtype. Raises UserError."""
    dtype = "gemm_dtype"
    rows = _tables(tables.beginning("gemm"), library, ("gpu", "library", dtype), {}, {})
    counts = Counter(text for some in rows for text in some.texts(dtype))
    return {f"{dtype} {text}": count for text, count in sorted(counts.items()) if text not in DTYPES}


def attention_samples(tables: Tables, library: str, phase: str) -> list[AttentionSample]:
    """Attention in bf16 without a sliding window, its cache in bf16 too, of one phase. Raises UserError."""
    shape = ("batch_size", "isl", "step", "num_heads", "num_key_value_heads", "head_dim")
    plain = {"attn_dtype": "bfloat16", "kv_cache_dtype": "bfloat16", "window_size": "0"}
    defaults = {"kernel_source": "", "phase": phase, **plain}
    names = ("gpu", "library", *shape, *defaults, "latency_us", "latency")
    keep = {name: (value,) for name, value in {**plain, "phase": phase}.items()}
    samples: list[AttentionSample] = []
    for rows in _tables(tables.beginning(f"{phase}_attention", "attention"), library, names, defaults, keep):
        batch, isl, heads, kv_heads, head_dim = (rows.counts(name) for name in shape if name != "step")
        step = rows.counts("step", least=0)
        kernels, phases = rows.texts("kernel_source"), rows.texts("phase")
        sizes = (batch, isl, step, heads, kv_heads)
        samples += map(AttentionSample, rows.gpus, rows.libraries, phases, *sizes, head_dim, kernels, rows.latencies_us)
    return samples


def all_reduce_samples(tables: Tables, library: str) -> list[AllReduceSample]:
    """Custom all-reduce kernels in bf16. Raises UserError."""
    defaults = {"elements_bf16": None, "message_size": None, "allreduce_dtype": "bfloat16"}
    names = ("gpu", "library", "num_gpus", *defaults, "latency_us", "latency")
    keep = {"allreduce_dtype": ("bfloat16",)}
    samples: list[AllReduceSample] = []
    for rows in _tables(tables.beginning("custom_allreduce", "allreduce"), library, names, defaults, keep):
        elements = rows.counts(rows.either("elements_bf16", "message_size"))
        samples += map(AllReduceSample, rows.gpus, rows.libraries, rows.counts("num_gpus"), elements, rows.latencies_us)
    return samples


def nccl_samples(tables: Tables) -> list[AllReduceSample]:
    """All-reduces of NCCL in fp16, launched one by one; sizes are in elements too. Raises UserError."""
    keep = {"op_name": ("all_reduce",), "nccl_dtype": ("half",)}
    names = ("gpu", "library", "num_gpus", "message_size", *keep, "latency_us", "latency")
    samples: list[AllReduceSample] = []
    for rows in _tables(tables.beginning("nccl"), "nccl", names, {}, keep):
        shape = (rows.counts("num_gpus"), rows.counts("message_size"))
        samples += map(AllReduceSample, rows.gpus, rows.libraries, *shape, rows.latencies_us)
    return samples


@dataclass(frozen=True)
class ServingSample:
    """A server that keeps `batch` requests in flight, each of isl tokens that make osl more."""

    gpu: str
    source: str
    model: str
    members: int
    batch: int
    isl: int
    osl: int
    tpot_ms: float


def serving_samples(tables: Tables, models: Mapping[str, str]) -> list[ServingSample]:
    """Servers of models (our name by the database's path) in bf16, whose prefills and steps share their GPUs.

    Raises UserError.
    """
    texts = ("system", "backend", "backend_version", "model_path", "precision", "mode", "pp_size")
    sizes = ("tp_size", "batch_size", "isl", "osl")
    keep = {"model_path": models, "precision": ("", "bf16"), "mode": ("agg",), "pp_size": ("1",)}
    samples: list[ServingSample] = []
    for table in tables.beginning("silicon_sample"):
        rows = _kept(table, table.columns((*texts, *sizes, "silicon_tpot_ms"), {}), keep)
        gpus = [MACHINES.get(gpu, gpu) for gpu in rows.texts("system")]
        sources = map("{} {}".format, rows.texts("backend"), rows.texts("backend_version"))
        named = [models[path] for path in rows.texts("model_path")]
        members, batch, isl, osl = map(rows.counts, sizes)
        latencies_ms = rows.numbers_above("silicon_tpot_ms", float, 0, "more than 0 and finite")
        samples += map(ServingSample, gpus, sources, named, members, batch, isl, osl, latencies_ms)
    return samples


@dataclass(frozen=True)
class _Rows:
    """Rows of one table, by column; `numbers` are their places in the file."""

    table: Table
    numbers: Sequence[int]
    columns: Columns

    @property
    def gpus(self) -> list[str]:
        """From the file's place or from the rows."""
        if self.table.gpu:
            return [self.table.gpu] * len(self.numbers)
        return [MACHINES.get(gpu, gpu) for gpu in self.texts("gpu")]

    @property
    def libraries(self) -> list[str]:
        """From the file's place or from the rows, with the version."""
        if self.table.library:
            return [f"{self.table.library} {self.table.version}"] * len(self.numbers)
        return self.texts("library")

    @property
    def latencies_us(self) -> list[float]:
        """Microseconds, from whichever column has them. Raises UserError."""
        name = self.either("latency_us", "latency")
        unit = 1 if name == "latency_us" else US_PER_MS
        return [latency * unit for latency in self.numbers_above(name, float, 0, "more than 0 and finite")]

    def either(self, *names: str) -> str:
        """The first of these columns that has something. Raises UserError."""
        found = [name for name in names if any(cell not in (None, "") for cell in self.columns[name])]
        if self.numbers and not found:
            raise UserError(f"{self.table.path} has no column {' or '.join(names)}")
        return (*found, *names)[0]

    def where(self, wanted: Sequence[bool]) -> _Rows:
        """The rows that are wanted."""
        columns = {name: list(compress(cells, wanted)) for name, cells in self.columns.items()}
        return _Rows(self.table, list(compress(self.numbers, wanted)), columns)

    def texts(self, name: str) -> list[str]:
        """Cells as texts."""
        return ["" if cell is None else str(cell) for cell in self.columns[name]]

    def counts(self, name: str, least: int = 1) -> list[int]:
        """Whole numbers of at least `least`. Raises UserError."""
        return self.numbers_above(name, int, least - 1, f"a whole number of at least {least}")

    def numbers_above(self, name: str, kind: Callable[[str], Number], above: int, due: str) -> list[Number]:
        """Finite numbers greater than `above`, which are `due`. Raises UserError."""
        numbers = []
        for place, cell in zip(self.numbers, self.columns[name], strict=True):
            try:
                number = kind(cell)  # type: ignore[arg-type]
            except (TypeError, ValueError):
                raise self._wrong(place, name, cell, due) from None
            if not above < number < inf:
                raise self._wrong(place, name, cell, due)
            numbers.append(number)
        return numbers

    def _wrong(self, place: int, name: str, cell: object, due: str) -> UserError:
        return UserError(f"{self.table.path}: row {place + 2}: {name} must be {due}, is {cell!r}")


def _tables(
    tables: Sequence[Table],
    library: str,
    names: Sequence[str],
    defaults: Mapping[str, object],
    keep: Mapping[str, Collection[str]],
) -> Iterator[_Rows]:
    """Rows of one of the database's libraries, and of all that are not the database's. keep: cells, by column."""
    for table in tables:
        if table.library in DATABASE_LIBRARIES and table.library != library:
            continue
        placed: Mapping[str, object] = {"gpu": table.gpu, "library": table.library} if table.gpu else {}
        columns = table.columns(names, {"latency_us": None, "latency": None, **placed, **defaults})
        rows = _kept(table, columns, keep)
        others = tuple(name for name in DATABASE_LIBRARIES if name != library)
        yield rows.where([not source.startswith(others) for source in rows.texts("library")])


def _kept(table: Table, columns: Columns, keep: Mapping[str, Collection[str]]) -> _Rows:
    """The rows whose cells are among those to keep, by column."""
    rows = _Rows(table, range(len(next(iter(columns.values()), ()))), columns)
    fits = [[str(cell) in kept for cell in columns[name]] for name, kept in keep.items()]
    return rows.where([all(row) for row in zip(*fits, strict=True)]) if fits else rows
