"""What an operation's file builds with: the pattern nodes that make values, and other names for their dims."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from patterns.graph import Argument
from patterns.importers.onnx_trace.atoms import Axis
from patterns.importers.onnx_trace.known import NONE, Arguments, Axes, Known, Made, Step, Unsupported, Value, flat


@dataclass
class Trace(Known):
    """A walk over a model, from its inputs down."""

    def __post_init__(self) -> None:
        super().__post_init__()
        # (atom, the one that it is another name of).
        self.copied: list[tuple[int, int]] = []
        self._renamed: dict[tuple[str, Axis, Axis], Value] = {}

    def emit(
        self,
        kind: str,
        fn: str,
        reads: Sequence[Value],
        axes: Axes,
        *,
        dtype: str = "",
        over: Axis = (),
        along: int | None = None,
        arguments: Arguments = NONE,
        new: Axis = (),
        part: str = "",
    ) -> Value:
        """A node, and the value it makes, with these axes. new: atoms that no operand has. part: what of the operation
        it is, '' for its result. Its tensor has the atoms of `axes` that some operand has, or that are new."""
        axes = tuple(self.atoms.resolved(axis) for axis in axes)
        here = {atom for value in reads for atom in self.held(value)}
        there = here | set(self.atoms.resolved(new))
        name = self.unused(
            f"{self.operation.outputs[0] if self.operation.outputs else 'made'}{'/' if part else ''}{part}"
        )
        dtype = dtype or self.dtype(reads[0])
        self.made[name] = Made(name, tuple(a for a in flat(axes) if a in there), dtype, "intermediate")
        self.atoms.set_apart({*here, *flat(axes), *new})
        sorted_arguments = tuple(sorted(arguments.items(), key=lambda pair: pair[0]))
        tensors = tuple(value.tensor for value in reads)
        self.steps.append(Step(kind, fn, tensors, name, over, along, sorted_arguments, self.operation, part))
        return Value(axes, name)

    def map(self, fn: str, value: Value, part: str = "", dtype: str = "", **arguments: Argument) -> Value:
        """A function of every element."""
        return self.emit("map", fn, [value], value.axes, dtype=dtype, arguments=arguments, part=part)

    def renamed(self, value: Value, old: Axis, new: Axis) -> Value:
        """The value with one of its axes under other atoms of the same extents: a second name for the same dim."""
        old, new = self.atoms.resolved(old), self.atoms.resolved(new)
        self.copied += zip(new, old, strict=True)
        key = (value.tensor, old, new)
        if key not in self._renamed:
            made = value
            for before, after in zip(old, new, strict=True):
                axes = tuple(tuple(after if a == before else a for a in axis) for axis in self.axes(made))
                if before in self.held(made):
                    for atom in (before, after):
                        self.atoms.keep_whole(atom)
                    arguments: Arguments = {"start": 0, "to": (after,)}
                    made = self.emit(
                        "buffer",
                        "slice",
                        [made],
                        axes,
                        along=before,
                        arguments=arguments,
                        new=(after,),
                        part=f"by_{value.tensor}",
                    )
                else:
                    made = Value(axes, made.tensor)
            self._renamed[key] = made
        swap = dict(zip(old, new, strict=True))
        axes = tuple(tuple(swap.get(a, a) for a in axis) for axis in self.axes(value))
        return Value(axes, self._renamed[key].tensor)

    def like(self, axis: Iterable[int]) -> Axis:
        """New atoms of the same extents."""
        resolved = self.atoms.resolved(axis)
        return tuple(
            self.atoms.new(self.atoms.size((a,)), self.atoms.hint(a)[1], self.atoms.hint(a)[0] // 2) for a in resolved
        )

    def without(self, value: Value, atoms: Iterable[int], part: str = "squeezed") -> Value:
        """The value without some of its atoms of extent 1."""
        gone = tuple(a for a in self.atoms.resolved(atoms))
        axes = tuple(tuple(a for a in axis if a not in gone) for axis in self.axes(value))
        over = tuple(a for a in gone if a in self.held(value))
        return self.emit("reduce", "sum", [value], axes, over=over, part=part) if over else Value(axes, value.tensor)

    def solid(self, value: Value, atoms: Iterable[int]) -> Value:
        """The value, whose tensor has these atoms even if they were only broadcast."""
        missing = tuple(a for a in self.atoms.resolved(atoms) if a not in self.held(value))
        if not missing:
            return value
        for atom in missing:
            self.atoms.keep_whole(atom)
            arguments: Arguments = {"to": (atom,)}
            value = self.emit("buffer", "repeat", [value], value.axes, arguments=arguments, new=(atom,), part="spread")
        return value

    def one_atom(self, value: Value, position: int) -> tuple[Value, int]:
        """The value with one atom, which stays whole, at an axis; and that atom."""
        axes = self.axes(value)
        position %= len(axes)
        axis = axes[position]
        if not axis:
            return self._with_unit(value, position)
        value = self.solid(value, axis)
        if len(axis) == 1:
            self.atoms.keep_whole(axis[0])
            return value, axis[0]
        whole = self.atoms.new(self.atoms.size(axis))
        self.atoms.keep_whole(whole)
        axes = (*axes[:position], (whole,), *axes[position + 1 :])
        arguments: Arguments = {"parts": axis, "to": (whole,)}
        return self.emit("buffer", "merge", [value], axes, arguments=arguments, new=(whole,), part="merged"), whole

    def divided(self, value: Value, position: int, parts: Axis) -> Value:
        """The value whose axis is made of new atoms with the extents of `parts`, by moving what cannot be renamed."""
        position %= len(value.axes)
        value, whole = self.one_atom(value, position)
        fresh = self.like(parts)
        if len(fresh) == 1:
            return value
        for atom in fresh:
            self.atoms.keep_whole(atom)
        axes = self.axes(value)
        axes = (*axes[:position], fresh, *axes[position + 1 :])
        arguments: Arguments = {"to": fresh}
        return self.emit("buffer", "split", [value], axes, along=whole, arguments=arguments, new=fresh, part="parts")

    def _with_unit(self, value: Value, position: int) -> tuple[Value, int]:
        """The value with a dim of extent 1 where ONNX has an axis of extent 1."""
        held = self.held(value)
        if not held:
            raise Unsupported("a scalar is put on an axis")
        unit, beside = self.atoms.new(1), held[0]
        self.atoms.keep_whole(unit)
        self.atoms.keep_whole(beside)
        axes = self.axes(value)
        axes = (*axes[:position], (unit,), *axes[position + 1 :])
        arguments: Arguments = {"to": (beside, unit)}
        made = self.emit("buffer", "split", [value], axes, along=beside, arguments=arguments, new=(unit,), part="unit")
        return made, unit
