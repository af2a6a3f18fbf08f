"""A problem as a switched system: for every action the map that it applies to the real variables.

Only the variables count that bad states depend on, directly or through the steps; others (a counter of
steps, a sum of rewards) may do what they like.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from surefoot.errors import SurefootError, Unsupported
from surefoot.problem.environment import Edge, Environment, expand_definitions
from surefoot.problem.policy_memory import has_memory
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.query.bounds import tighten_box
from surefoot.query.formula import negation_normal_form
from surefoot.reductions.discretise import discretise
from surefoot.reductions.simultaneous_updates import compose_updates, named_kinds
from surefoot.term.interval import Span, span_of
from surefoot.term.term import TRUE, Const, Term, Var, disjunction_of, free_names, split_conjunction
from surefoot.term.traverse import Leaf, fold_term, rebuild_term
from surefoot.term.value_types import Arithmetic, Int, Real, ValueType

Range: TypeAlias = tuple[Fraction, Fraction]
MOST_VARIABLES = 6
MOST_ACTIONS = 12


@dataclass(frozen=True, slots=True)
class SwitchedSystem:
    """`maps[action][variable]` is the value after a step, over the values before it."""

    name: str
    variables: tuple[str, ...]
    maps: Mapping[str, Mapping[str, Term]]
    bad: Term
    initial: Term
    starts: tuple[Range, ...]  # a box around all starts
    rounded: bool  # is it executed in float64?

    @property
    def actions(self) -> tuple[str, ...]:
        return tuple(self.maps)


def read_switched_system(problem: Problem) -> SwitchedSystem:
    """The maps of all actions; `Unsupported` says why it is no such system."""
    if has_memory(problem.policy):
        what = "a shield around a policy with memory"
        raise Unsupported(what, fix="leave the policy out: what is permitted does not depend on it")
    problem = discretise(problem)
    environment, asked = problem.environment, problem.property
    if not isinstance(asked, Never):
        raise Unsupported("a shield needs a property `never BAD`")
    if len(environment.components) != 1 or len(environment.components[0].locations) != 1:
        raise Unsupported("actions of several automata or locations have no shield over real variables")
    edges = environment.components[0].edges
    if not 2 <= len(edges) <= MOST_ACTIONS:
        raise Unsupported(f"a shield over real variables needs 2 to {MOST_ACTIONS} actions")
    maps: dict[str, dict[str, Term]] = {}
    for edge in edges:
        if (why := _edge_objection(edge)) is not None:
            raise Unsupported(why)
        assert edge.action is not None
        if edge.action in maps:
            raise Unsupported(f"the action `{edge.action}` has several edges")
        kinds = named_kinds(environment, edge.chosen)
        updates = compose_updates(edge.outcomes[0].updates, kinds, environment.arithmetic)
        maps[edge.action] = {u.target.name: u.value for u in updates if isinstance(u.target, Var)}
    bad = expand_definitions(asked.bad, environment)
    kinds = {v.name: v.kind for v in environment.variables}
    names = _relevant_names(bad, maps, kinds)
    if foreign := next((n for n in names if not isinstance(kinds.get(n), Real)), None):
        raise Unsupported(f"bad states depend on `{foreign}`, which is no real variable")
    if single := next((n for n in names if getattr(kinds[n], "float32", False)), None):
        raise Unsupported(f"`{single}` holds float32 numbers only, and steps are followed in others")
    if not 1 <= len(names) <= MOST_VARIABLES:
        raise Unsupported(f"bad states depend on {len(names)} variables; sets are looked for up to 6")
    bad = disjunction_of((bad, *_leave_limits(names, kinds)))
    starts = _start_box(environment, names)
    kept = {a: {n: new.get(n, Var(n)) for n in names} for a, new in maps.items()}
    rounded = environment.arithmetic is Arithmetic.FLOAT64
    return SwitchedSystem(problem.name, names, kept, bad, environment.initial, starts, rounded)


def _edge_objection(edge: Edge) -> str | None:
    if edge.action is None:
        return "a step without an action moves the state"
    if edge.guard != TRUE or edge.assuming != TRUE:
        return f"the action `{edge.action}` is not always possible"
    if edge.chosen:
        return f"the environment chooses values in the steps of `{edge.action}`"
    if len(edge.outcomes) != 1:
        return f"the action `{edge.action}` has several outcomes"
    if any(not isinstance(update.target, Var) for update in edge.outcomes[0].updates):
        return f"the action `{edge.action}` writes arrays"
    return None


def _relevant_names(
    bad: Term, maps: Mapping[str, Mapping[str, Term]], kinds: Mapping[str, ValueType]
) -> tuple[str, ...]:
    """What bad states depend on, in the order of declaration."""
    found = sorted(free_names(bad))
    for name in found:
        for new in maps.values():
            if name in new:
                found += sorted(free_names(new[name]) - set(found))
    return tuple(n for n in kinds if n in found) + tuple(n for n in found if n not in kinds)


def _leave_limits(names: tuple[str, ...], kinds: Mapping[str, ValueType]) -> Iterator[Term]:
    """A run that leaves the limits of a variable has no answer: the shield keeps it within them."""
    for name in names:
        kind = kinds[name]
        assert isinstance(kind, Real)
        if kind.low is not None:
            yield Var(name) < Const(kind.low)
        if kind.high is not None:
            yield Const(kind.high) < Var(name)


def _start_box(environment: Environment, names: tuple[str, ...]) -> tuple[Range, ...]:
    """From the linear comparisons of the initial condition, and from what is declared."""
    formulas = []
    for part in split_conjunction(expand_definitions(environment.initial, environment)):
        try:
            formulas.append(negation_normal_form(part))
        except SurefootError:  # a condition that only makes the starts fewer
            continue
    kinds = {v.name: v.kind for v in environment.variables}
    wide = {n: span_of(k) or Span() for n, k in kinds.items()}
    box = tighten_box(
        {n: (s.low, s.high) for n, s in wide.items()},
        formulas,
        frozenset(n for n, k in kinds.items() if isinstance(k, Int)),
    )
    if box is None:
        raise Unsupported("nothing satisfies the initial condition")
    found: list[Range] = []
    for name in names:
        low, high = box[name]
        if low is None or high is None:
            raise Unsupported(f"the starts give `{name}` no lower or no upper bound")
        found.append((Fraction(low), Fraction(high)))
    return tuple(found)


def round_constants(term: Term) -> Term:
    """What a term that is executed in float64 means but for rounding: its real constants are doubles."""

    def leaf(part: Leaf) -> Term:
        if isinstance(part, Const) and isinstance(part.value, Fraction):
            return Const(Fraction(float(part.value)))
        return part

    return fold_term(term, leaf, rebuild_term)
