"""Rows of measured tables as typed records, one sort a function. Columns may be those of the database or our own.

GEMM (gemm*): gpu, library, gemm_dtype, m, n, k, latency_us. Attention (attention*, context_attention*,
generation_attention*): gpu, library, phase (context or generation), batch_size, isl, step, num_heads,
num_key_value_heads, head_dim, kernel_source, latency_us. All-reduce (custom_allreduce*, allreduce*): gpu, library,
num_gpus, elements_bf16, latency_us. The database writes `latency`, in ms, for latency_us, and message_size for
elements_bf16; gpu, library and phase follow from the file's place and name there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from experiments.validation.tables import MACHINES, Table, Tables
from patterns.errors import UserError

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
    found = _rows(tables.beginning("gemm"), library, names, {})
    return [_gemm(row) for row in found if row.text("gemm_dtype") in DTYPES]


def _gemm(row: _TableRow) -> GemmSample:
    (gpu, library), dtype = row.place, DTYPES[row.text("gemm_dtype")]
    return GemmSample(gpu, library, dtype, row.count("m"), row.count("n"), row.count("k"), row.latency_us)


def attention_samples(tables: Tables, library: str, phase: str) -> list[AttentionSample]:
    """Attention in bf16 without a sliding window, its cache in bf16 too, of one phase. Raises UserError."""
    shape = ("batch_size", "isl", "step", "num_heads", "num_key_value_heads", "head_dim")
    plain = {"attn_dtype": "bfloat16", "kv_cache_dtype": "bfloat16", "window_size": 0}
    defaults = {"kernel_source": "", "phase": "", **plain}
    names = ("gpu", "library", *shape, *defaults, "latency_us", "latency")
    found = _rows(tables.beginning(f"{phase}_attention", "attention"), library, names, defaults)
    kept = (row for row in found if row.phase == phase)
    return [_attention(row) for row in kept if all(row.text(name) == str(value) for name, value in plain.items())]


def _attention(row: _TableRow) -> AttentionSample:
    gpu, library = row.place
    return AttentionSample(
        gpu=gpu,
        library=library,
        phase=row.phase,
        batch=row.count("batch_size"),
        isl=row.count("isl"),
        step=row.count("step"),
        heads=row.count("num_heads"),
        kv_heads=row.count("num_key_value_heads"),
        head_dim=row.count("head_dim"),
        kernel=row.text("kernel_source"),
        latency_us=row.latency_us,
    )


def all_reduce_samples(tables: Tables, library: str) -> list[AllReduceSample]:
    """Custom all-reduce kernels, replayed in a graph. Raises UserError."""
    defaults = {"elements_bf16": None, "message_size": None, "backend": "", "allreduce_dtype": "bfloat16"}
    names = ("gpu", "library", "num_gpus", *defaults, "latency_us", "latency")
    found = _rows(tables.beginning("custom_allreduce", "allreduce"), library, names, defaults)
    kept = (row for row in found if row.text("allreduce_dtype") == "bfloat16")
    return [_all_reduce(row) for row in kept if not row.text("backend").endswith("eager")]


def _all_reduce(row: _TableRow) -> AllReduceSample:
    gpu, library = row.place
    elements = row.count(row.first("elements_bf16", "message_size"))
    return AllReduceSample(gpu, library, row.count("num_gpus"), elements, row.latency_us)


@dataclass(frozen=True)
class _TableRow:
    """One row of a table, its cells by column."""

    table: Table
    number: int
    cells: Mapping[str, object]

    @property
    def place(self) -> tuple[str, str]:
        """GPU and library, from the file's place or from the row."""
        gpu = self.table.gpu or self.text("gpu")
        library = f"{self.table.library} {self.table.version}" if self.table.library else self.text("library")
        return MACHINES.get(gpu, gpu), library

    @property
    def phase(self) -> str:
        """context or generation."""
        return self.text("phase") or self.table.path.name.partition("_")[0]

    @property
    def latency_us(self) -> float:
        """Microseconds, from whichever column has it."""
        name = self.first("latency_us", "latency")
        latency = self._number(name, float)
        if not latency > 0:
            raise self._wrong(name, "more than 0")
        return latency * (US_PER_MS if name == "latency" else 1)

    def first(self, *names: str) -> str:
        """The first of these columns that has something. Raises UserError."""
        for name in names:
            if self.cells[name] not in (None, ""):
                return name
        raise UserError(f"{self.table.path} has no column {' or '.join(names)}")

    def count(self, name: str) -> int:
        """A whole number. Raises UserError."""
        return int(self._number(name, int))

    def text(self, name: str) -> str:
        """A cell as text."""
        cell = self.cells[name]
        return "" if cell is None else str(cell)

    def _number(self, name: str, kind: type[int] | type[float]) -> float:
        try:
            return kind(self.text(name))
        except ValueError:
            raise self._wrong(name, "a whole number" if kind is int else "a number") from None

    def _wrong(self, name: str, due: str) -> UserError:
        row = self.number + 2
        return UserError(f"{self.table.path}: row {row}: {name} must be {due}, is {self.text(name)!r}")


def _rows(
    tables: Sequence[Table], library: str, names: Sequence[str], defaults: Mapping[str, object]
) -> Iterator[_TableRow]:
    """Rows of one of the database's libraries, and of all that are not the database's."""
    for table in tables:
        if table.library in DATABASE_LIBRARIES and table.library != library:
            continue
        placed: Mapping[str, object] = {"gpu": table.gpu, "library": table.library} if table.gpu else {}
        columns = table.columns(names, {"latency_us": None, "latency": None, **placed, **defaults})
        for number, cells in enumerate(zip(*columns.values(), strict=True)):
            row = _TableRow(table, number, dict(zip(columns, cells, strict=True)))
            named = row.place[1].partition(" ")[0]
            if named == library or named not in DATABASE_LIBRARIES:
                yield row
