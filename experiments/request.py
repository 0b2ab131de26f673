"""What a user asks to be run: one workload, one GPU and one RDU, and how each of them works."""

from __future__ import annotations

from dataclasses import dataclass

GPU = "h100_sxm"
RDU = "sn40l"


@dataclass(frozen=True)
class Request:
    """A question. `policies` and `modes`: () for all there are. `settings`: (name, value) texts, see settings.py."""

    workload: str
    phase: str = "decode"
    batch: int | None = None
    context: int | None = None
    gpu: str = GPU
    gpus: int = 1
    rdu: str = RDU
    sockets: int = 1
    policies: tuple[str, ...] = ()
    modes: tuple[str, ...] = ()
    launch: str = "stream"
    schedule: str = "auto"
    options: tuple[tuple[str, str], ...] = ()
    orchestration: str = "hardware"
    placement: str = "estimate"
    collectives: str = "overlapped"
    seed: int = 0
    settings: tuple[tuple[str, str], ...] = ()
