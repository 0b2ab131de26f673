"""What a scalar function and a reduction are: a numpy meaning, and what one element costs.

Counting rule. A vector op is one add, multiply, multiply-add, compare, select or conversion of one element. A special
op is one evaluation in a transcendental unit: 2**x, log2(x), 1/x, 1/sqrt(x), tanh(x). What is built from these is
counted as built: exp(x) = 2**(x log2 e) is one of each, a division is a reciprocal and a multiply.
Copies and constants cost no ops; they cost their bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Keeps = Literal["", "not_after", "window"]


@dataclass(frozen=True)
class Function:
    """A scalar function of `arity` arrays and the scalars named in `arguments`.

    meaning: called as meaning(numpy, *arrays, **arguments), on arrays that broadcast. vector_ops, special_ops: per
    element of the result (of a reduce: per element that is read). affine: a multiple of the first array plus what does
    not depend on it, so that a chain of them is one multiply-add. keeps: which elements of the first array it keeps,
    where it masks others: `not_after`, those whose third array (their position) is not after the second (the row's);
    `window`, of those the last as many as the argument `window` says.
    """

    name: str
    arity: int
    meaning: Callable[..., Any]
    vector_ops: int = 0
    special_ops: int = 0
    arguments: tuple[str, ...] = ()
    affine: bool = False
    keeps: Keeps = ""

    def __call__(self, *arrays: Any, **arguments: Any) -> Any:
        """The function of the arrays, element by element."""
        import numpy

        return self.meaning(numpy, *arrays, **arguments)


def named(*functions: Function) -> Mapping[str, Function]:
    """Functions by name."""
    return {function.name: function for function in functions}


Parts = tuple[Any, ...]


@dataclass(frozen=True)
class Reduction:
    """A reduction that can be taken in parts: `finish(merge(part(a), part(b)))` is that of a and b together.

    part: part(numpy, array, axes, first) with `first` the index of the array's first element along the axes (an
    argmax needs it). index: the result is an index, of dtype int32, and one dim is reduced. picks: only elements that
    become results are read. adds: the result outgrows the elements.
    """

    name: str
    part: Callable[[Any, Any, tuple[int, ...], int], Parts]
    merge: Callable[[Any, Parts, Parts], Parts]
    finish: Callable[[Parts], Any]
    vector_ops: int = 1
    special_ops: int = 0
    index: bool = False
    picks: bool = False
    adds: bool = False
