"""Certificates of runs that violate a property for ever: the stem written out, the regions proved.

The claim is made from a trace and a problem alone, so that whoever has both can tell whether a certificate is
about them. The obligations are those that the checker derives from the claim.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from surefoot.certify.checker.claim import Places
from surefoot.certify.checker.execution.problem import read_problem
from surefoot.certify.checker.execution.recurrence import check_stem, obligations, read_recurrence
from surefoot.certify.checker.number import BadCertificate, Refused
from surefoot.certify.execution.canonical import canonical, is_possible
from surefoot.certify.execution.policy import decided
from surefoot.certify.execution.prove import proof
from surefoot.certify.execution.terms import exact, tree, written
from surefoot.encode.expand import Scope, expand, leaves, undefined
from surefoot.encode.interval import Kinds
from surefoot.encode.layout import Layout, lay_out
from surefoot.errors import SurefootError, Unsupported
from surefoot.problem.environment import Edge, Real
from surefoot.problem.meaning.transition import Transition
from surefoot.problem.problem import Problem
from surefoot.problem.semantics import State
from surefoot.problem.show import show
from surefoot.problem.term import FALSE, Const, Term, Var, array
from surefoot.verdict.verdict import Certificate, Trace
from surefoot.work.budget import Budget


def recurrence_claim(problem: Problem, trace: Trace, inputs: Mapping[str, str]) -> dict[str, Any]:
    """What a certificate for this trace has to claim; `Unsupported` says why there is none."""
    environment = problem.environment
    if len(environment.components) != 1 or environment.synchronisations:
        raise Unsupported("certificates of endless runs cover environments with a single component")
    whole = canonical(problem, inputs)
    layout = lay_out(environment, set())
    names = {**layout.scope, **{c.name: Var(c.name) for c in environment.controls}}
    kinds: Kinds = {**layout.kinds, **{c.name: Real(c.low, c.high) for c in environment.controls}}
    steps = _Steps(environment.components[0].edges, whole["edges"], names, kinds)
    constants = ({name: _constant(value) for name, value in m.chosen.items()} for m in trace.moves)
    return {
        "kind": "recurrence",
        "problem": whole,
        "start": dict(_scalars(layout, trace.states[0])),
        "moves": [
            steps.step(m.transition, m.outcomes, chosen)
            for m, chosen in zip(trace.moves, constants, strict=True)
        ],
        "regions": [
            {"set": written(r.where, names, kinds), **steps.step(r.transition, r.outcomes, dict(r.chosen))}
            for r in trace.recurrence
        ],
    }


def recurrence_certificate(
    problem: Problem, trace: Trace, inputs: Mapping[str, str], budget: Budget
) -> Certificate | str:
    """A certificate that the run of this trace can go on for ever without a good state, or why not."""
    try:
        claim = recurrence_claim(problem, trace, inputs)
        _, behind = decided(problem.policy)
        network = None if behind is None else behind.network
        read, claimed = read_problem(claim["problem"], Places(Path())), read_recurrence(claim)
        check_stem(read, claimed)
        wanted, shown = obligations(read, claimed), []
        for number, obligation in enumerate(wanted):
            budget.progress(f"proving obligation {number + 1} of {len(wanted)}")
            cases = proof(obligation, network, budget, "float32")
            shown.append({"obligation": obligation.name, "steps": obligation.steps, "cases": cases})
    except (Refused, BadCertificate, SurefootError) as error:
        return str(error)
    content = {"surefoot-certificate": 1, "claim": claim, "arithmetic": "float32", "obligations": shown}
    return Certificate("recurrence", content)


@dataclass(frozen=True, slots=True)
class _Steps:
    """Steps in the numbers and names of the canonical problem."""

    edges: tuple[Edge, ...]
    written: Sequence[Mapping[str, Any]]  # the same edges in the canonical problem
    names: Scope
    kinds: Kinds

    def step(
        self, transition: Transition, outcomes: tuple[int, ...], chosen: Mapping[str, Term]
    ) -> dict[str, Any]:
        if len(transition.edges) != 1 or len(outcomes) != 1:
            raise Unsupported("a step of several components, which certificates do not cover")
        number, outcome = transition.edges[0][1], outcomes[0]
        edge = self.edges[number]
        if not is_possible(edge.outcomes[outcome]):
            raise Unsupported("an outcome of probability 0")
        rewards = (amount for part in edge.outcomes for _, amount in part.rewards)
        if any(undefined(amount, self.names, self.kinds) != FALSE for amount in rewards):
            raise Unsupported("a reward that may have no value, which certificates do not cover")
        return {
            "edge": number,
            "outcome": sum(map(is_possible, edge.outcomes[:outcome])),
            "chosen": list(self._picks(number, chosen)),
        }

    def _picks(self, number: int, chosen: Mapping[str, Term]) -> Iterator[list[Any]]:
        own = [c[0] for c in self.written[number]["chosen"]]
        terms = [chosen[c.name] for c in self.edges[number].chosen]
        for term in terms:
            if undefined(term, self.names, self.kinds) != FALSE:
                raise Unsupported(f"what is picked may have no value: {show(term)}")
        values = [leaf for term in terms for leaf in leaves(expand(term, self.names))]
        if len(values) != len(own):
            raise Unsupported("an array of another length is picked")
        yield from ([name, tree(value)] for name, value in zip(own, values, strict=True))


def _constant(value: Any) -> Term:
    return array(*map(_constant, value)) if isinstance(value, tuple) else Const(value)


def _scalars(layout: Layout, state: State) -> Iterator[tuple[str, int | str]]:
    """A state by the names of its scalars."""
    for name, tree_of in layout.trees.items():
        for leaf, value in zip(leaves(tree_of), _flat(state[name]), strict=True):
            assert isinstance(leaf, Var)
            yield leaf.name, exact(Fraction(value))


def _flat(value: Any) -> list[Any]:
    return [v for part in value for v in _flat(part)] if isinstance(value, tuple) else [value]
