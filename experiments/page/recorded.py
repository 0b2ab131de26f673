"""The page of a recording: what was read, each device's time, classes and kernels, the host, and the model beside it.

Every text and table is that of `patternloom profile`, so the two cannot differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import file_digest
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.page.provenance import DIGITS, Fact, made_with, provenance
from experiments.page.recorded_bars import class_bars, device_bars, step_bars
from experiments.page.render import page_bytes, rendered
from experiments.page.sections import Drawn, Heading, Piece, Section, Warned, section
from experiments.profile.show import (
    HOST,
    classes_table,
    device_lines,
    device_name,
    device_title,
    kernels_table,
    kernels_title,
)
from experiments.profile.show_against import against_parts, calls_text
from experiments.profile.told import (
    apart_text,
    beside_text,
    counts_text,
    heading,
    launches_text,
    ns_text,
    pace_text,
    percent,
    steps_text,
)
from experiments.text.table import Table
from patterns.errors import UserError

if TYPE_CHECKING:
    from experiments.profile.against import Against
    from experiments.profile.profiled import DeviceProfile, Profile
    from experiments.text.page import Part

SCRIPTS = ("page.js",)


def recorded_page(
    found: Profile, beside: Against | None, top: int, step: str, pictures: Sequence[tuple[str, bytes]]
) -> bytes:
    """The page, whole. top: how many kernels by name; step: what was asked of steps; pictures: title and SVG."""
    lead, *warnings = heading(found).split("\n")
    device = beside.device if beside else found.widest
    page = rendered(
        "recorded.html",
        SCRIPTS,
        name=Path(found.recording.file).name,
        lead=lead,
        finding=calls_text(beside) if beside else finding(device),
        warnings=warnings,
        tiles=tiles(found, device),
        sections=list(sections(found, beside, top, pictures)),
        provenance=[
            made_with(),
            recording_fact(found.recording.file),
            *found.recording.about,
            *asked(step, top),
            *(provenance(beside.request)[1:] if beside else ()),
        ],
    )
    return page_bytes(page)


def asked(step: str, top: int) -> tuple[Fact, ...]:
    """What was asked of recordings: their steps, and how many kernels by name."""
    return ("asked: step", step or "the likeliest"), ("asked: top", str(top))


def finding(device: DeviceProfile) -> str:
    """What is to be known first."""
    return f"{device_name(device)}: {counts_text(device)}, {ns_text(device.step_ns)} each; {pace_text(device)}"


def tiles(found: Profile, device: DeviceProfile) -> list[Fact]:
    """The figures that are looked for first, of one device."""
    account = device.account
    return [
        ("kernels a step", f"{device.kernels_per_step:,}"),
        ("a step takes", ns_text(device.step_ns)),
        ("busy", percent(account.busy_ns, account.span_ns)),
        ("idle", ns_text(account.idle_ns)),
        ("launching, a step", ns_text(found.host.total_ns / len(found.steps.steps)) if found.host.calls else "-"),
        ("unattributed kernels", f"{device.unattributed:,}"),
    ]


def sections(
    found: Profile, beside: Against | None, top: int, pictures: Sequence[tuple[str, bytes]]
) -> Iterator[Section]:
    """Everything below the head of the page."""
    yield section("steps", "Steps", [steps_text(found)])
    for device in found.devices:
        yield section(f"device-{device.device.number}", device_name(device), device_pieces(device, top))
    yield section("host", HOST, launches_text(found))
    if beside:
        title, sentence, *parts = against_parts(beside)
        yield section("model", "Beside the model", [title, sentence, step_bars(beside), *headed(parts)])
    yield section("pictures", "Pictures", [Drawn(title, svg) for title, svg in pictures])


def device_pieces(device: DeviceProfile, top: int) -> Iterator[Piece]:
    """A device's time, its classes, its longest kernels, and what ran at once."""
    yield device_title(device)
    apart = list(apart_text(device))
    yield from (Warned(line) if line in apart else line for line in device_lines(device))
    yield device_bars(device)
    yield class_bars(device)
    yield classes_table(device.classes)
    if top:
        yield Heading(kernels_title(device, top))
        yield kernels_table(device, top)
    yield Heading("At the same time")
    yield beside_text(device)


def headed(parts: Sequence[Part]) -> Iterator[Piece]:
    """Parts of a text page; a text that stands above a table is its heading."""
    for part, below in zip(parts, [*parts[1:], ""], strict=True):
        yield Heading(part) if isinstance(part, str) and isinstance(below, Table) else part


def recording_fact(file: str) -> Fact:
    """A recording and a digest of it."""
    try:
        with Path(file).open("rb") as opened:
            digest = file_digest(opened, "sha256").hexdigest()
    except OSError as error:
        raise UserError(
            f"{file}: was read, and is not there any more: {(error.strerror or str(error)).lower()}"
        ) from error
    return "recording", f"{file}, sha256 {digest[:DIGITS]}"
