"""What is decided by the structure of a graph, and by answers to questions on its extents and on the machine.

Contexts, batches and many machines give the same answers, so the same is decided for them: it is found once, and again
only where some question has another answer.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Concatenate, Generic, ParamSpec, Protocol, TypeVar

from gpu_model.machine import Machine
from patterns.graph import Graph

About = ParamSpec("About")
Answer = TypeVar("Answer", bound=Hashable)
Found = TypeVar("Found")
# Different answers that are kept for one structure: refusals may tell of extents.
MOST_KEPT = 256


class Answers(Protocol):
    """Answers a question, a function of a graph and a machine, about what a structure has."""

    def __call__(
        self, question: Callable[Concatenate[Graph, Machine, About], Answer], *about: About.args, **also: About.kwargs
    ) -> Answer:
        """What the question gives for the graph and the machine at hand."""


@dataclass(frozen=True)
class Facts:
    """A graph and a machine, which answer all questions."""

    graph: Graph
    machine: Machine

    def __call__(
        self, question: Callable[Concatenate[Graph, Machine, About], Answer], *about: About.args, **also: About.kwargs
    ) -> Answer:
        """What the question gives for them."""
        return question(self.graph, self.machine, *about, **also)


@dataclass
class _Step(Generic[Found]):
    """A question that every run comes to which was given the same answers before; what came then, by its answer."""

    ask: Callable[[Graph, Machine], Hashable]
    then: dict[Hashable, _Step[Found] | _End[Found]] = field(default_factory=dict)


@dataclass(frozen=True)
class _End(Generic[Found]):
    found: Found


class Decisions(Generic[Found]):
    """What `decide` finds, by the answers that it was given. It is a pure function of these, and asks in an order that
    follows from them: so what it found before is what it would find again."""

    def __init__(self, decide: Callable[[Answers], Found]) -> None:
        self._decide = decide
        self._first: dict[Hashable, _Step[Found] | _End[Found]] = {}
        self._kept = 0

    def at(self, facts: Facts) -> Found:
        """What is decided on these facts."""
        step = self._first.get(None)
        while isinstance(step, _Step):
            step = step.then.get(step.ask(facts.graph, facts.machine))
        return self._learnt(facts) if step is None else step.found

    def _learnt(self, facts: Facts) -> Found:
        asked: list[tuple[Callable[[Graph, Machine], Hashable], Hashable]] = []

        def answers(
            question: Callable[Concatenate[Graph, Machine, About], Answer], *about: About.args, **also: About.kwargs
        ) -> Answer:
            answer = question(facts.graph, facts.machine, *about, **also)
            asked.append((lambda graph, machine: question(graph, machine, *about, **also), answer))
            return answer

        found = self._decide(answers)
        if self._kept == MOST_KEPT:
            self._first, self._kept = {}, 0
        then, before = self._first, None
        for ask, answer in asked:
            step = then.setdefault(before, _Step(ask))
            assert isinstance(step, _Step)
            then, before = step.then, answer
        then[before] = _End(found)
        self._kept += 1
        return found
