"""dot: text for Graphviz, one layer of boxes below another."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from experiments.diagram import Box, Diagram, Frame, Look, Numbered, boxes_in, numbered

HEAD = (
    'graph [rankdir=TB, compound=true, fontname="Helvetica", fontsize=16, labelloc=t, labeljust=l, nodesep=0.25,',
    '       ranksep=0.35, pad=0.3, bgcolor="white"]',
    'node [fontname="Helvetica", fontsize=11, style=filled, margin="0.10,0.05", height=0.3, penwidth=1.2]',
    'edge [fontname="Helvetica", fontsize=9, arrowsize=0.6, color="#555555"]',
)


def drawn(diagram: Diagram) -> str:
    """The drawing as DOT, the same text for the same drawing."""
    key = numbered(diagram)
    lines = [f"digraph {quoted(diagram.title)} {{", *(f"  {line}" for line in HEAD)]
    lines.append(f"  label={title(diagram)}")
    number = iter(range(len(diagram.boxes) * 2 + 2))
    for item in diagram.items:
        lines += [f"  {line}" for line in part(item, key, number)]
    for arrow in diagram.arrows:
        marks = [f"label={quoted(arrow.label)}"] if arrow.label else []
        if arrow.again:
            marks += ["style=dashed", "constraint=false", 'color="#d55e00"']
        tail = f" [{', '.join(marks)}]" if marks else ""
        lines.append(f"  {key(arrow.start)} -> {key(arrow.end)}{tail}")
    return "\n".join([*lines, *legend(diagram), "}"]) + "\n"


def title(diagram: Diagram) -> str:
    """The title, large, and the notes below it."""
    notes = "".join(f'<br align="left"/><font point-size="11">{escape(note)}</font>' for note in diagram.notes)
    return f'<<b>{escape(diagram.title)}</b>{notes}<br align="left"/>>'


def part(item: Box | Frame, key: Numbered, number: Iterator[int]) -> Iterator[str]:
    """A box, or a frame with all that is in it."""
    if isinstance(item, Box):
        yield box(item, key)
        return
    if not any(True for _ in boxes_in(item.items)):
        return
    yield f"subgraph cluster_{next(number)} {{"
    yield f"  label={quoted(item.title)}; {frame_style(item)}"
    for inner in item.items:
        yield from (f"  {line}" for line in part(inner, key, number))
    yield "}"


def frame_style(frame: Frame) -> str:
    """Calls have a grey ground; repeated blocks a thick line."""
    if frame.call:
        return 'style="rounded,filled"; fillcolor="#efefef"; color="#888888"; penwidth=1; fontsize=11'
    width = 3 if frame.repeated else 1
    return f'style="rounded"; color="#0072b2"; penwidth={width}; fontsize=13'


def box(item: Box, key: Numbered) -> str:
    """A box with its title in bold."""
    rest = "".join(f'<br/><font point-size="9">{escape(line)}</font>' for line in item.lines[1:])
    label = f"<<b>{escape(item.lines[0])}</b>{rest}>"
    return f"{key(item.key)} [label={label}, {look(item.look)}]"


def look(found: Look) -> str:
    """The attributes of a look."""
    return f'shape={found.shape}, fillcolor="{found.fill}", color="{found.line}"'


def legend(diagram: Diagram) -> Iterator[str]:
    """What the colours mean, in a box of its own below everything."""
    rows = "".join(
        f'<tr><td bgcolor="{found.fill}" color="{found.line}" border="1" width="24"> </td>'
        f'<td align="left" border="0">{escape(found.about)}</td></tr>'
        for found in diagram.looks
    )
    if any(arrow.again for arrow in diagram.arrows):
        rows += '<tr><td border="0"><font color="#d55e00">- -&gt;</font></td>'
        rows += '<td align="left" border="0">to the next execution</td></tr>'
    table = f'<<table border="0" cellborder="0" cellspacing="3" cellpadding="1">{rows}</table>>'
    yield f'  legend [shape=plain, style="", fontsize=10, label={table}]'


def quoted(text: str) -> str:
    """A text as DOT reads it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
