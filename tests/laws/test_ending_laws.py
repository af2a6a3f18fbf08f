"""Where runs end: what is proved about all runs is so with probability 1, for every way to choose an action.

Random tables (`tabled_systems.py`) have actions that are not enabled, steps of the environment's own and
equal outputs. Each is judged by the interpreter of tables, by the probability that `explicit` computes, and
by every engine, encoding and claim that can take it. A proof allows every action of a tie; a violation is a
run of the reference, which takes the first one.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product
from pathlib import Path as File
from random import Random
from typing import Any

import pytest
from tests.laws.tabled_systems import (
    AROUND,
    KINDS,
    Asked,
    Table,
    is_telling,
    is_violated,
    problem,
    random_asked,
    random_table,
)
from tests.laws.test_execution_laws import satisfied

from surefoot.certify.runs.canonical import run_problem_to_json
from surefoot.certify.runs.prove import prove_run_certificate
from surefoot.certify.values.claim import build_graph_certificate
from surefoot.engines.bmc import Bmc
from surefoot.engines.explicit import Explicit
from surefoot.engines.induction import Induction
from surefoot.engines.predicates import Predicates
from surefoot.engines.recurrence import Recurrence
from surefoot.errors import Unsupported
from surefoot.problem.policy import Choose
from surefoot.problem.problem import Problem
from surefoot.problem.property import Bound, Path, Probability
from surefoot.problem.semantics import enumerate_successors, may_end
from surefoot.reductions.transition_system import TransitionSystem, build_transition_system
from surefoot.run import verify
from surefoot.term.evaluate import evaluate_term
from surefoot.term.term import TRUE, Const, Term
from surefoot.term.value_types import Arithmetic, Int
from surefoot.verdict.verdict import (
    Certificate,
    Exact,
    Holds,
    ProofArgument,
    Proved,
    Unknown,
    Vacuous,
    Violated,
)
from surefoot.work.budget import Budget
from surefoot_checker.check import judge_certificate
from surefoot_checker.claims.runs.canonical_problem import read_canonical_problem
from surefoot_checker.claims.runs.time_frame import TimeFrame
from surefoot_checker.claims.unsat.query_claim import FileLocations

CHOOSE = (Choose.ARGMAX, Choose.ARGMAX_APPLICABLE, Choose.SAMPLE)
ENGINES = (Bmc(depth=3), Induction(depth=2), Predicates(), Recurrence(depth=0), Explicit())
WAYS = [(choose, around) for choose in CHOOSE for around in AROUND]
TABLES = 40  # that are looked at state by state, for each way
CASES = [(choose, around, kind) for choose, around in WAYS for kind in KINDS]
answers: Counter[tuple[str, str]] = Counter()


@cache
def drawn(choose: Choose, around: str, seed: int) -> tuple[Table, dict[str, Asked]]:
    draw = Random(f"{choose.value}/{around}/{seed}")
    table = random_table(draw, choose, around)
    return table, {kind: random_asked(draw, table, kind) for kind in KINDS}


def telling(choose: Choose, around: str, kind: str) -> list[tuple[Table, Asked]]:
    """A table that depends on ties or draws, or else one that is violated anyway; and one that is not."""
    found = [(table, asked[kind]) for table, asked in (drawn(choose, around, n) for n in range(60))]
    depends = [pair for pair in found if is_telling(*pair)]
    plain = [
        [p for p in found if p not in depends and is_violated(*p, ties=True) is v] for v in (True, False)
    ]
    return (depends or plain[0])[:1] + plain[1][:1]


# State by state.


@pytest.mark.parametrize(("choose", "around"), WAYS)
def test_the_reference_has_the_ends_and_steps_of_the_table(choose: Choose, around: str) -> None:
    for seed in range(TABLES):
        table, asked = drawn(choose, around, seed)
        question = problem(table, asked["never"])
        for x in range(table.size):
            assert may_end(question, {"x": x}) is table.may_end(x, ties=False), (x, table)
            assert {s.state["x"] for s in enumerate_successors(question, {"x": x})} == table.after(
                x, ties=False
            )


@pytest.mark.parametrize("rounding", [True, False])
@pytest.mark.parametrize(("choose", "around"), WAYS)
def test_the_encoding_has_the_ends_and_steps_of_the_table(
    choose: Choose, around: str, rounding: bool
) -> None:
    """With rounding all actions of a tie are possible, without the first one is."""
    tied = 0
    for seed in range(TABLES):
        table, asked = drawn(choose, around, seed)
        system = build_transition_system(problem(table, asked["never"]), rounding)
        for x in range(table.size):
            made = [d for d in decisions(system, table, x) if all(holds(c, d) for c in system.constraints)]
            ends = any(holds(system.ended, d) for d in made)
            taken = {
                int(evaluate_term(leap.after["x"], d, Arithmetic.EXACT))
                for d in made
                for when, leap in system.leaps
                if holds(when, d)
            }
            assert ends is table.may_end(x, rounding), (x, table)
            assert taken == table.after(x, rounding), (x, table)
            tied += table.may_end(x, True) is not table.may_end(x, False)
    assert tied or choose is not Choose.ARGMAX


def holds(term: Term, names: Mapping[str, Any]) -> bool:
    return bool(evaluate_term(term, names, Arithmetic.EXACT))


def decisions(system: TransitionSystem, table: Table, x: int) -> Iterator[Mapping[str, Any]]:
    """The state with the outputs of the network there, and everything that the encoding leaves open."""
    names: dict[str, Any] = {"x": x}
    for call in system.calls:
        names |= dict(zip(call.outputs, table.outputs(x), strict=True))
    left = {n: k for n, k in system.decision_kinds.items() if n not in names}
    assert all(isinstance(kind, Int) for kind in left.values())
    for values in product(*(range(k.low, k.high + 1) for k in left.values())):  # type: ignore[union-attr,operator,arg-type]
        yield {**names, **dict(zip(left, values, strict=True))}


@pytest.mark.parametrize(("choose", "around"), WAYS)
def test_the_checker_has_the_ends_and_steps_of_the_table(choose: Choose, around: str) -> None:
    looked_at = tied = 0
    for seed in range(TABLES):
        table, asked = drawn(choose, around, seed)
        try:
            found = read_canonical_problem(
                run_problem_to_json(problem(table, asked["never"])), FileLocations(File())
            )
        except Unsupported:
            continue
        moment = TimeFrame(found, 0)
        for x in range(table.size):
            looked_at += 1
            values = {"x@0": Fraction(x)} | {
                f"output[{i}]@0": Fraction(o) for i, o in enumerate(table.outputs(x))
            }
            assert satisfied(moment.may_end(), values) is table.may_end(x, ties=True), (x, table)
            taken = {
                to
                for number, (_, _, outcomes) in enumerate(table.edges)
                if satisfied(moment.edge_permitted(number), values)
                for _, to in outcomes
            }
            assert taken == table.after(x, ties=True), (x, table)
            tied += table.may_end(x, True) is not table.may_end(x, False)
    assert looked_at or around == "shield"  # certificates do not cover shields
    assert tied or around == "shield" or choose is not Choose.ARGMAX


@pytest.mark.parametrize(("choose", "around"), WAYS)
def test_a_claim_about_the_graph_is_accepted_exactly_if_no_tie_violates(choose: Choose, around: str) -> None:
    """The claim is the problem itself: whether it is true the checker finds out alone."""
    seen: Counter[tuple[bool, bool]] = Counter()
    for seed in range(TABLES):
        table, properties = drawn(choose, around, seed)
        for kind, asked in properties.items():
            claim = build_graph_certificate(problem(table, asked))
            if not isinstance(claim, Certificate):
                continue
            violated = is_violated(table, asked, ties=True)
            assert judge_certificate(json.loads(json.dumps(claim.content))).accepted is not violated, (
                kind,
                table,
            )
            seen[violated, is_violated(table, asked, ties=False)] += 1
    if choose is not Choose.SAMPLE and around != "shield":  # these are refused
        assert seen[False, False] > TABLES / 4
        assert seen[True, True] > TABLES / 4
    if choose is Choose.ARGMAX and around != "shield":
        assert seen[True, False] > 0


# Run by run.


def condition(asked: Asked) -> Term:
    found = asked.property()
    return found.bad if asked.kind == "never" else found.good  # type: ignore[union-attr]


def least(question: Problem, path: Path, *, everywhere: bool = False) -> Fraction:
    """The least probability over everything that is left open, over all starts, or all reachable states."""
    starts = TRUE if everywhere else None
    asked = Probability(path, None, "min", "min", starts)
    found = verify(replace(question, property=asked), Explicit(exact=True), Budget(20), certificates=False)
    assert isinstance(found.verdict, Exact), found.verdict
    assert found.verdict.low is not None
    assert found.verdict.low == found.verdict.high
    return found.verdict.low


def is_almost_sure(question: Problem, asked: Asked) -> bool:
    """With probability 1 a run keeps the property, whatever the environment does."""
    term = condition(asked)
    match asked.kind:
        case "never":
            return least(question, Path("G", ~term)) == 1
        case "eventually":
            return least(question, Path("F", term)) == 1
        case "recurs":
            return least(question, Path("F", term), everywhere=True) == 1
        case _:
            bounds = (Bound(Const(asked.after), Const(asked.steps)),)
            return least(question, Path("F", term, bounds=bounds)) == 1


@pytest.mark.parametrize(("choose", "around", "kind"), CASES)
def test_what_is_proved_is_so_with_probability_1(choose: Choose, around: str, kind: str) -> None:
    for table, asked in telling(choose, around, kind):
        question = problem(table, asked)
        violated, in_a_proof = (is_violated(table, asked, ties=ties) for ties in (False, True))
        sure = is_almost_sure(question, asked)
        if not violated:
            assert sure, table
        late = kind == "within" and asked.after > 0  # to a formula a run that has ended stays: good even late
        if violated and kind in ("never", "within") and not late:
            assert not sure, table  # a finite run has a probability
        for engine in ENGINES:
            try:
                result = verify(question, engine, Budget(20))
            except Unsupported:
                continue
            match result.verdict:
                case Proved() | Holds(as_asked=True):
                    answers[kind, "holds"] += 1
                    assert not in_a_proof, (engine.name, table)
                    assert sure, (engine.name, table)
                case Violated(trace):
                    answers[kind, "violated"] += 1
                    assert violated, (engine.name, table)
                    if trace.loop is None and not trace.recurrence and not late:
                        assert not sure, (engine.name, table)
                case Vacuous(why):
                    assert not in_a_proof, (engine.name, table, why)
                case Holds() | Unknown():
                    answers[kind, "open"] += 1
                case other:
                    raise AssertionError(other)


def test_the_engines_did_answer() -> None:
    """After the others: silence would not contradict anything either."""
    if sum(answers.values()) < 60:
        pytest.skip("the systems above were not all looked at in this process")
    for kind in KINDS:
        assert answers[kind, "holds"] > 3
        assert answers[kind, "violated"] > 3


ARGUMENTS = {
    "never": (ProofArgument("induction", 1), ProofArgument("unrolled", 2)),
    "recurs": (ProofArgument("induction", 1, 1), ProofArgument("induction", 1, 2)),
    "eventually": (ProofArgument("unrolled", 1), ProofArgument("unrolled", 2)),
}


@pytest.mark.parametrize(("choose", "around", "kind"), [c for c in CASES if c[1] != "shield"])
def test_the_checker_takes_no_proof_of_what_is_violated(choose: Choose, around: str, kind: str) -> None:
    """What the checker derives can be shown of no table with a violation, by any argument."""
    for table, asked in telling(choose, around, kind)[:1]:
        question = problem(table, asked)
        written = run_problem_to_json(question)
        arguments = (ProofArgument("unrolled", asked.steps),) if kind == "within" else ARGUMENTS[kind]
        for argument in arguments if is_violated(table, asked, ties=True) else ():
            found = prove_run_certificate(question, written, argument, Budget(2))
            assert isinstance(found, str), (table, argument)
