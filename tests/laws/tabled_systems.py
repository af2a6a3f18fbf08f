"""Random systems written as tables, with an interpreter of their own: what may happen, and where runs end.

Nothing of `problem/` is used to judge them. In a state the environment's own edges are always there; where an
edge of the policy's is there as well, the policy is asked, and what it picks is taken if there is an edge for
it. If there is none, and none of the environment's, the run ends. What may be picked:

    argmax              the best output; a run takes the first of several, a proof allows each of them
    argmax-applicable   the same among the actions that have an edge
    sample              every action of the network

A branch of a program goes before the network; a shield permits what is picked, or its fallback decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from random import Random

from surefoot.problem.environment import Component, Edge, Environment, Outcome, Update, Variable
from surefoot.problem.network import dense_network
from surefoot.problem.policy import Branch, Choose, NeuralPolicy, Policy, ProgramPolicy, ShieldedPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Eventually, Never, Property, Recurs, Within
from surefoot.term.reserved_names import chosen_name
from surefoot.term.term import TRUE, Const, Term, Var, disjunction_of, equal
from surefoot.term.value_types import Int

X = Var("x")
KINDS = ("never", "eventually", "recurs", "within")
AROUND = ("nothing", "program", "shield")


@dataclass(frozen=True)
class Table:
    """A system: edges are (label, source, outcomes), outcomes are (share, target)."""

    size: int
    edges: tuple[tuple[str | None, int, tuple[tuple[Fraction, int], ...]], ...]
    starts: frozenset[int]
    labels: tuple[str, ...]  # of the network
    lines: tuple[tuple[int, int], ...]  # output i = slope * x + height
    choose: Choose
    around: str
    where: frozenset[int]  # where the rule or the fallback decides
    instead: str  # what it picks
    refused: str | None  # what the shield never permits there; None: it permits nothing there

    def own(self, state: int) -> set[str]:
        known = {*self.labels, self.instead} if self.around != "nothing" else {*self.labels}
        return {label for label, source, _ in self.edges if source == state and label in known}

    def picks(self, state: int, ties: bool) -> set[str]:
        """What may be picked where the policy is asked."""
        if self.around == "program" and state in self.where:
            return {self.instead}
        found = self._network(state, ties)
        if self.around == "shield" and state in self.where:
            return {self.instead if self.refused in (None, pick) else pick for pick in found}
        return found

    def outputs(self, state: int) -> list[int]:
        return [slope * state + height for slope, height in self.lines]

    def _network(self, state: int, ties: bool) -> set[str]:
        if self.choose is Choose.SAMPLE:
            return set(self.labels)
        outputs = self.outputs(state)
        among = list(range(len(outputs)))
        if self.choose is Choose.ARGMAX_APPLICABLE:
            among = [i for i in among if self.labels[i] in self.own(state)]
        best = [i for i in among if outputs[i] == max(outputs[j] for j in among)]
        return {self.labels[i] for i in (best if ties else best[:1])}

    def is_defined(self) -> bool:
        """Outside of its rule a network that picks among what is enabled has something to pick from."""
        return self.choose is not Choose.ARGMAX_APPLICABLE or all(
            not self.own(s) or bool(self.own(s) & {*self.labels}) for s in range(self.size)
        )

    def after(self, state: int, ties: bool) -> set[int]:
        own = self.own(state)
        taken = self.picks(state, ties) if own else set()
        return {
            target
            for label, source, outcomes in self.edges
            if source == state and (label not in own or label in taken)
            for _, target in outcomes
        }

    def may_end(self, state: int, ties: bool) -> bool:
        own = self.own(state)
        if any(source == state and label not in own for label, source, _ in self.edges):
            return False
        return not own or not self.picks(state, ties) <= own


@dataclass(frozen=True)
class Asked:
    kind: str
    states: frozenset[int]
    steps: int = 0
    after: int = 0

    def property(self) -> Property:
        term = _among(self.states)
        match self.kind:
            case "never":
                return Never(term)
            case "eventually":
                return Eventually(term)
            case "recurs":
                return Recurs(term)
            case _:
                return Within(term, self.steps, self.after)


def is_violated(table: Table, asked: Asked, *, ties: bool, stalls: bool = True) -> bool:
    """Does some run violate the property? `ties`: with every action that a proof has to allow.

    Without `stalls` a run ends only where nothing else can happen, which is not what is meant.
    """
    after = {s: table.after(s, ties) for s in range(table.size)}
    ends = {s for s in range(table.size) if (table.may_end(s, ties) if stalls else not after[s])}
    here = set(table.starts)
    if asked.kind == "within":
        for number in range(asked.steps + 1):
            if number >= asked.after:
                here -= asked.states
            if number == asked.steps or here & ends:
                return bool(here)
            here = {t for s in here for t in after[s]}
    if asked.kind == "eventually":
        here -= asked.states
    seen: set[int] = set()
    while here:
        seen |= here
        here = {t for s in here for t in after[s]} - seen
        if asked.kind == "eventually":
            here -= asked.states
    if asked.kind == "never":
        return bool(seen & asked.states)
    quiet = seen - asked.states
    while dead := {s for s in quiet if s not in ends and not after[s] & quiet}:
        quiet -= dead
    return bool(quiet)


def random_table(draw: Random, choose: Choose, around: str) -> Table:
    while not (made := _drawn(draw, choose, around)).is_defined():
        pass
    return made


def _drawn(draw: Random, choose: Choose, around: str) -> Table:
    size, labels = draw.randint(2, 4), ("a", "b", "c")[: draw.randint(1, 3)]
    also = (*labels, *labels, "d", None)  # `d` is the environment's own, unless a rule picks it
    edges = []
    for source in range(size):
        for _ in range(draw.choice((1, 1, 2, 2, 3))):
            targets = [draw.choice((min(source + 1, size - 1), draw.randrange(size))) for _ in range(2)]
            whole = ((Fraction(1), targets[0]),)
            halves = tuple((Fraction(1, 2), t) for t in targets)
            edges.append((draw.choice(also), source, halves if draw.random() < 0.2 else whole))
    for label in sorted({*labels, "d"} - {label for label, _, _ in edges}):
        edges.append((label, size, ((Fraction(1), 0),)))  # there is such an action, which is never enabled
    slopes = (0, 0, 1, -1)
    lines = tuple((draw.choice(slopes), draw.choice((0, 0, 1, 2))) for _ in labels)
    where = frozenset(s for s in range(size) if draw.random() < 0.4)
    refused = None if choose is Choose.SAMPLE else draw.choice((None, *labels))
    return Table(
        size,
        tuple(edges),
        frozenset({0}) if draw.random() < 0.7 else frozenset({0, size - 1}),
        labels,
        lines,
        choose,
        around,
        where,
        draw.choice((*labels, "d")),
        refused,
    )


def random_asked(draw: Random, table: Table, kind: str) -> Asked:
    states = frozenset(draw.sample(range(table.size), draw.choice((1, 1, 2))))
    if draw.random() < 0.6:
        states = frozenset({table.size - 1})
    after = draw.choice((0, 0, 1))
    return Asked(kind, states, after + draw.randint(0, 3), after)


def is_telling(table: Table, asked: Asked) -> bool:
    """Does the answer depend on ties, or on what is drawn and not enabled?"""
    true = is_violated(table, asked, ties=True)
    others = is_violated(table, asked, ties=False), is_violated(table, asked, ties=True, stalls=False)
    return any(true is not other for other in others)


def problem(table: Table, asked: Asked) -> Problem:
    return Problem("tabled", environment(table), policy(table), asked.property())


def environment(table: Table) -> Environment:
    edges = tuple(
        Edge(
            "here",
            label,
            equal(X, source),
            (),
            TRUE,
            tuple(Outcome(Const(share), (Update(X, Const(to)),), target="here") for share, to in outcomes),
        )
        for label, source, outcomes in table.edges
    )
    world = Component("world", edges, ("here",), ("here",))
    return Environment("tabled", (Variable("x", Int(0, table.size - 1)),), _among(table.starts), (world,))


def policy(table: Table) -> Policy:
    weights, heights = [[slope] for slope, _ in table.lines], [height for _, height in table.lines]
    network = NeuralPolicy(dense_network([(weights, heights)]), (X,), table.labels, table.choose)
    match table.around:
        case "nothing":
            return network
        case "program":
            return ProgramPolicy((Branch(_among(table.where), table.instead), Branch(TRUE, network)))
        case _:
            refused = TRUE if table.refused is None else Var(chosen_name(table.refused))
            fallback = ProgramPolicy((Branch(TRUE, table.instead),))
            return ShieldedPolicy(network, ~(_among(table.where) & refused), fallback)


def _among(states: frozenset[int]) -> Term:
    return disjunction_of(tuple(equal(X, s) for s in sorted(states)))
