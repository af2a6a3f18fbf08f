"""What `accumulate` counts, as rewards of outcomes.

`exit` counts the value of an expression in the state that is left. `steps` counts its value at the end of the
step, where transient variables have what the step assigned to them. Both are asked for by properties, so the
rewards are collected while those are read and put into the outcomes afterwards.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import lcm

from surefoot.errors import InvalidProblem, did_you_mean
from surefoot.formats.jani.composition import counting_members, separate_vectors
from surefoot.formats.jani.constant_folding import fold_constant_parts
from surefoot.formats.jani.edges import Destination, RawEdge
from surefoot.formats.jani.expressions import JaniScope, read_jani_term
from surefoot.formats.jani.instances import ModelInstances
from surefoot.formats.jani.json_document import JsonNode
from surefoot.problem.environment import Edge, Outcome, Synchronisation
from surefoot.problem.property import STEPS
from surefoot.term.term import Apply, Const, Op, Term, Var, free_names
from surefoot.term.traverse import fold_term, substitute_names
from surefoot.term.types import REAL
from surefoot.term.value_types import Int, Real


@dataclass(frozen=True, slots=True)
class _Reward:
    """`each`: counted once for every step; `jump`: over transient variables, counted where they are set."""

    name: str
    each: Term
    jump: Term | None


@dataclass(frozen=True, slots=True)
class Rewards:
    """The rewards that properties ask for, and what is needed to say what they are."""

    cast: ModelInstances
    scope: JaniScope  # transient variables stand for their values in a state
    defaults: Mapping[str, Term]  # transient variables by unique name
    edges: Mapping[str, list[RawEdge]]  # by component
    vectors: tuple[Synchronisation, ...]
    found: dict[str, _Reward] = field(default_factory=dict)  # by what is accumulated, as text

    def request_reward(
        self, expression: JsonNode, accumulate: JsonNode, wanted: str, *, plain_steps: bool = True
    ) -> str:
        """The name of the reward that accumulates this expression; `wanted` is used if it has no name.

        `plain_steps`: one for every step may be the number of steps, which goes on when a run has ended.
        """
        ways = [entry.string() for entry in accumulate.entries()]
        for entry, way in zip(accumulate.entries(), ways, strict=True):
            if way == "time":
                entry.refuse("`time` passes only in a model in continuous time", "accumulate steps or exit")
            if way not in ("steps", "exit"):
                entry.fail(f"unknown accumulation `{way}`", "write steps or exit")
        if not ways:
            accumulate.fail("nothing is accumulated", "write steps or exit")
        key = json.dumps([plain_steps, sorted(set(ways)), expression.value], default=str, sort_keys=True)
        if key not in self.found:
            self.found[key] = self._reward(expression, set(ways), wanted, plain_steps)
        return self.found[key].name

    def request_named_reward(self, name: str) -> None:
        """A transient variable as a reward: what steps set it to, and what it is worth in the state left."""
        numbers = [
            n for n, d in self.cast.variables.items() if d.transient and isinstance(d.kind, Int | Real)
        ]
        if name not in numbers:
            known = dict.fromkeys((STEPS, *(r.name for r in self.found.values()), *numbers))
            raise InvalidProblem(f"there is no reward `{name}`", fix=did_you_mean(name, known))
        declared = self.cast.variables[name]
        node = JsonNode(name, declared.node, "name")
        destinations = [d for edges in self.edges.values() for e in edges for d in e.destinations]
        by_steps = any(self.cast.names[name] in d.transient for d in destinations)
        by_states = self.scope.values[name] != declared.initial
        ways = [*(["steps"] if by_steps or not by_states else []), *(["exit"] if by_states else [])]
        self.request_reward(node, JsonNode(ways, declared.node, "name"), name, plain_steps=False)

    def _reward(self, node: JsonNode, ways: set[str], wanted: str, plain_steps: bool) -> _Reward:
        each: Term = Const(0)
        jump: Term | None = None
        if "exit" in ways:
            each = read_jani_term(node, self.scope, REAL)
        if "steps" in ways:
            jump = self._step_value(node)
            base = fold_constant_parts(substitute_names(jump, self.defaults))
            if plain_steps and ways == {"steps"} and base == Const(1) and not self._setters(jump):
                return _Reward(STEPS, base, None)
            each = base if each == Const(0) else each if base == Const(0) else each + base
            self._check_members(node, jump)
        plain = node.value if isinstance(node.value, str) and len(ways) == 1 else f"{wanted} reward"
        plain = wanted if node.value == wanted else plain
        taken = {r.name for r in self.found.values()} | {STEPS}
        while plain in taken:
            plain += "_"
        return _Reward(plain, each, jump)

    def rewarded_system(self) -> tuple[dict[str, tuple[Edge, ...]], tuple[Synchronisation, ...]]:
        """The edges of every component with all rewards, and the vectors.

        Where no choice of members counts every step once, the vectors get members of their own.
        """
        components = [i.component for i in self.cast.instances]
        edges, vectors = self.edges, self.vectors
        counting = counting_members(components, edges, vectors)
        if counting is None:
            if any(r.each != Const(0) for r in self.found.values() if r.name != STEPS):
                edges, vectors, counting = separate_vectors(components, edges, vectors)
            else:
                counting = set()
        rewarded = {
            c: tuple(self._edge_with_rewards(c, e, (c, e.action) in counting) for e in edges[c])
            for c in components
        }
        return self._with_unpaid(rewarded), vectors

    def _with_unpaid(self, edges: dict[str, tuple[Edge, ...]]) -> dict[str, tuple[Edge, ...]]:
        """A reward that no step pays is one all the same: nothing is paid for it somewhere."""
        outcomes = (o for several in edges.values() for e in several for o in e.outcomes)
        paid = {STEPS, *(name for o in outcomes for name, _ in o.rewards)}
        unpaid = tuple((r.name, Const(0)) for r in self.found.values() if r.name not in paid)
        component = next((c for c, several in edges.items() if several), None)
        if not unpaid or component is None:
            return edges
        first, *others = edges[component]
        outcome, *rest = first.outcomes
        first = replace(first, outcomes=(replace(outcome, rewards=(*outcome.rewards, *unpaid)), *rest))
        return {**edges, component: (first, *others)}

    def common_denominator(self, name: str) -> int | None:
        """A number that makes all sums of a reward whole; None if its amounts depend on the state."""
        whole = 1
        for edges in self.rewarded_system()[0].values():
            for edge in edges:
                for amount in (a for o in edge.outcomes for reward, a in o.rewards if reward == name):
                    if not isinstance(amount, Const):
                        return None
                    whole = lcm(whole, Fraction(amount.value).denominator)
        return whole

    def _step_value(self, node: JsonNode) -> Term:
        """The expression over transient variables, which stand for themselves."""
        names = {n: u for n, u in self.cast.names.items() if self.cast.variables[n].transient}
        values = {**self.scope.values, **{n: Var(u) for n, u in names.items()}}
        kinds = {**self.scope.kinds, **{u: self.cast.variables[n].kind for n, u in names.items()}}
        term = read_jani_term(node, replace(self.scope, values=values, kinds=kinds), REAL)
        others = free_names(term) - set(self.defaults)
        if others:
            what = f"a reward of steps that depends on `{min(others)}`, which is not transient"
            node.refuse(what, "tools disagree on whether it is read before or after the step; use `exit`")
        return term

    def _setters(self, jump: Term) -> dict[tuple[str, str | None], set[str]]:
        """Component and action of edges that set transient variables of the reward, and which."""
        wanted = free_names(jump)
        found: dict[tuple[str, str | None], set[str]] = {}
        for component, edges in self.edges.items():
            for edge in edges:
                for destination in edge.destinations:
                    names = wanted & set(destination.transient)
                    if names:
                        found.setdefault((component, edge.action), set()).update(names)
                    if any(destination.transient[n] is None for n in names):
                        what = "a reward that is set after the variables it depends on have changed"
                        destination.node.refuse(what, "assign it with the lowest index")
        return found

    def _check_members(self, node: JsonNode, jump: Term) -> None:
        """Two members of one vector may add to a sum, but not set the same variable."""
        setters = self._setters(jump)
        components = [i.component for i in self.cast.instances]
        for vector in self.vectors:
            members = [
                setters[c, a]
                for c, a in zip(components, vector.actions, strict=True)
                if a is not None and (c, a) in setters
            ]
            names = [n for member in members for n in member]
            if len(set(names)) < len(names):
                node.refuse("two automata set this reward in one step", "let one of them set it")
            if len(members) > 1 and not _is_sum(jump):
                node.refuse("two automata set parts of this reward, which is not a sum", "use a sum")

    def _edge_with_rewards(self, component: str, edge: RawEdge, counts: bool) -> Edge:
        return Edge(
            edge.source,
            edge.action,
            edge.guard,
            outcomes=tuple(
                Outcome(d.probability, d.updates, self._amounts(component, edge, d, counts), d.target)
                for d in edge.destinations
            ),
        )

    def _amounts(
        self, component: str, edge: RawEdge, destination: Destination, counts: bool
    ) -> tuple[tuple[str, Term], ...]:
        amounts: list[tuple[str, Term]] = []
        for reward in self.found.values():
            amount: Term = Const(0)
            if reward.name == STEPS:
                continue
            if reward.each != Const(0) and counts:
                instance = next(i for i in self.cast.instances if i.component == component)
                amount = instance.fix_location(reward.each, edge.source)
            if reward.jump is not None and (
                added := self._reward_increase(reward.jump, destination)
            ) != Const(0):
                amount = added if amount == Const(0) else fold_constant_parts(amount + added)
            if amount != Const(0):
                amounts.append((reward.name, amount))
        return tuple(amounts)

    def _reward_increase(self, jump: Term, destination: Destination) -> Term:
        """By how much the transient values of this destination raise the reward of the step."""
        given = {n: t for n, t in destination.transient.items() if t is not None}
        if not free_names(jump) & set(given):
            return Const(0)
        base = fold_constant_parts(substitute_names(jump, self.defaults))
        value = fold_constant_parts(substitute_names(jump, {**self.defaults, **given}))
        return value if base == Const(0) else fold_constant_parts(value - base)


def _is_sum(term: Term) -> bool:
    """Is every transient variable of the term a summand, perhaps multiplied by a constant?"""
    return fold_term(term, lambda _: True, lambda part, sums: all(sums) and _is_linear_operator(part))


def _is_linear_operator(term: Apply) -> bool:
    if term.op is Op.MUL:
        return sum(not isinstance(a, Const) for a in term.args) <= 1
    return term.op in (Op.ADD, Op.SUB, Op.NEG) or (term.op is Op.DIV and isinstance(term.args[1], Const))
