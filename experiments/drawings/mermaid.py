"""mermaid: text that Markdown pages on many sites show as a drawing."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.diagram import Box, Diagram, Frame, Look, Numbered, numbered

# Brackets around a label, by the shape of the box.
BRACKETS = {"box": ("[", "]"), "ellipse": ("([", "])"), "cylinder": ("[(", ")]")}


def drawn(diagram: Diagram) -> str:
    """The drawing as Mermaid, the same text for the same drawing."""
    key = numbered(diagram)
    looks = {look: f"look{number}" for number, look in enumerate(diagram.looks)}
    number = iter(range(len(diagram.boxes) * 2 + 2))
    lines = ["---", f"title: {quoted(': '.join((diagram.title, *diagram.notes[:1])))}", "---", "flowchart TD"]
    for item in diagram.items:
        lines += [f"  {line}" for line in part(item, key, number, looks)]
    for arrow in diagram.arrows:
        line = "-.->" if arrow.again else "-->"
        label = arrow.label or ("next execution" if arrow.again else "")
        lines.append(f"  {key(arrow.start)} {line}{f'|{quoted(label)}|' if label else ''} {key(arrow.end)}")
    lines += [f"  classDef {name} fill:{look.fill},stroke:{look.line},color:#000000" for look, name in looks.items()]
    return "\n".join(lines) + "\n"


def part(item: Box | Frame, key: Numbered, number: Iterator[int], looks: dict[Look, str]) -> Iterator[str]:
    """A box, or a frame with all that is in it."""
    if isinstance(item, Box):
        opening, closing = BRACKETS[item.look.shape]
        yield f"{key(item.key)}{opening}{quoted(*item.lines)}{closing}:::{looks[item.look]}"
        return
    yield f"subgraph f{next(number)}[{quoted(item.title)}]"
    for inner in item.items:
        yield from (f"  {line}" for line in part(inner, key, number, looks))
    yield "end"


def escaped(text: str) -> str:
    """A text without what Mermaid would take for markup."""
    for letter, name in (("&", "amp"), ("#", "35"), ('"', "quot"), ("<", "lt"), (">", "gt")):
        text = text.replace(letter, f"\0{name};")
    return " ".join(text.replace("\0", "#").split("\n"))


def quoted(*lines: str) -> str:
    """Lines as Mermaid reads them."""
    return f'"{"<br/>".join(map(escaped, lines))}"'
