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

from surefoot.certify.runs.canonical import is_possible_outcome, run_problem_to_json
from surefoot.certify.runs.policy import rules_and_network
from surefoot.certify.runs.prove import prove_obligation
from surefoot.certify.term_json import defined_term_to_json, exact_to_json, run_term_to_json
from surefoot.errors import SurefootError, Unsupported
from surefoot.problem.environment import Edge
from surefoot.problem.meaning.transition import Transition
from surefoot.problem.problem import Problem
from surefoot.problem.semantics import State
from surefoot.reductions.expand import TreeScope, expand_term, tree_leaves, undefined_condition
from surefoot.reductions.scalar_layout import ScalarLayout, lay_out_scalars
from surefoot.term.interval import Kinds
from surefoot.term.printer import show_term
from surefoot.term.term import FALSE, Const, Term, Var, array_term
from surefoot.term.value_types import Real
from surefoot.verdict.verdict import Certificate, Trace
from surefoot.work.budget import Budget
from surefoot_checker.claims.runs.canonical_problem import read_canonical_problem
from surefoot_checker.claims.runs.recurrence import (
    check_stem,
    read_recurrence_claim,
    region_obligations,
)
from surefoot_checker.claims.unsat.query_claim import FileLocations
from surefoot_checker.kernel.strict_json import BadCertificate, Refused


def recurrence_claim(problem: Problem, trace: Trace, inputs: Mapping[str, str]) -> dict[str, Any]:
    """What a certificate for this trace has to claim; `Unsupported` says why there is none."""
    environment = problem.environment
    if len(environment.components) != 1 or environment.synchronisations:
        raise Unsupported("certificates of endless runs cover environments with a single component")
    whole = run_problem_to_json(problem, inputs)
    layout = lay_out_scalars(environment, set())
    names = {**layout.scope, **{c.name: Var(c.name) for c in environment.controls}}
    kinds: Kinds = {**layout.kinds, **{c.name: Real(c.low, c.high) for c in environment.controls}}
    steps = _Steps(environment.components[0].edges, whole["components"][0]["edges"], names, kinds)
    constants = ({name: _constant_term(value) for name, value in m.chosen.items()} for m in trace.moves)
    return {
        "kind": "recurrence",
        "problem": whole,
        "start": dict(_scalar_values(layout, trace.states[0])),
        "moves": [
            steps.step(m.transition, m.outcomes, chosen)
            for m, chosen in zip(trace.moves, constants, strict=True)
        ],
        "regions": [
            {
                "set": defined_term_to_json(r.where, names, kinds),
                **steps.step(r.transition, r.outcomes, dict(r.chosen)),
            }
            for r in trace.recurrence
        ],
    }


def recurrence_certificate(
    problem: Problem, trace: Trace, inputs: Mapping[str, str], budget: Budget
) -> Certificate | str:
    """A certificate that the run of this trace can go on for ever without a good state, or why not."""
    try:
        claim = recurrence_claim(problem, trace, inputs)
        _, behind = rules_and_network(problem.policy)
        network = None if behind is None else behind.network
        read, claimed = (
            read_canonical_problem(claim["problem"], FileLocations(Path())),
            read_recurrence_claim(claim),
        )
        check_stem(read, claimed)
        wanted, shown = region_obligations(read, claimed), []
        for number, obligation in enumerate(wanted):
            budget.progress(f"proving obligation {number + 1} of {len(wanted)}")
            cases = prove_obligation(obligation, network, budget, "float32")
            shown.append({"obligation": obligation.name, "steps": obligation.steps, "cases": cases})
    except (Refused, BadCertificate, SurefootError) as error:
        return str(error)
    content = {"surefoot-certificate": 2, "claim": claim, "arithmetic": "float32", "obligations": shown}
    return Certificate("recurrence", content)


@dataclass(frozen=True, slots=True)
class _Steps:
    """Steps in the numbers and names of the canonical problem."""

    edges: tuple[Edge, ...]
    written: Sequence[Mapping[str, Any]]  # the same edges in the canonical problem
    names: TreeScope
    kinds: Kinds

    def step(
        self, transition: Transition, outcomes: tuple[int, ...], chosen: Mapping[str, Term]
    ) -> dict[str, Any]:
        if len(transition.edges) != 1 or len(outcomes) != 1:
            raise Unsupported("a step of several components, which certificates do not cover")
        number, outcome = transition.edges[0][1], outcomes[0]
        edge = self.edges[number]
        if not is_possible_outcome(edge.outcomes[outcome]):
            raise Unsupported("an outcome of probability 0")
        rewards = (amount for part in edge.outcomes for _, amount in part.rewards)
        if any(undefined_condition(amount, self.names, self.kinds) != FALSE for amount in rewards):
            raise Unsupported("a reward that may have no value, which certificates do not cover")
        return {
            "edge": number,
            "outcome": sum(map(is_possible_outcome, edge.outcomes[:outcome])),
            "chosen": list(self._picks(number, chosen)),
        }

    def _picks(self, number: int, chosen: Mapping[str, Term]) -> Iterator[list[Any]]:
        own = [c[0] for c in self.written[number]["chosen"]]
        terms = [chosen[c.name] for c in self.edges[number].chosen]
        for term in terms:
            if undefined_condition(term, self.names, self.kinds) != FALSE:
                raise Unsupported(f"what is picked may have no value: {show_term(term)}")
        values = [leaf for term in terms for leaf in tree_leaves(expand_term(term, self.names))]
        if len(values) != len(own):
            raise Unsupported("an array of another length is picked")
        yield from ([name, run_term_to_json(value)] for name, value in zip(own, values, strict=True))


def _constant_term(value: Any) -> Term:
    return array_term(*map(_constant_term, value)) if isinstance(value, tuple) else Const(value)


def _scalar_values(layout: ScalarLayout, state: State) -> Iterator[tuple[str, int | str]]:
    """A state by the names of its scalars."""
    for name, tree_of in layout.trees.items():
        for leaf, value in zip(tree_leaves(tree_of), _flatten_value(state[name]), strict=True):
            assert isinstance(leaf, Var)
            yield leaf.name, exact_to_json(Fraction(value))


def _flatten_value(value: Any) -> list[Any]:
    return [v for part in value for v in _flatten_value(part)] if isinstance(value, tuple) else [value]
