"""`surefoot shield MODEL` for systems with finitely many states: permitted actions and the safest ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path as File
from typing import Any

from surefoot.cli.output import deliver_file, write_certificate, write_facts
from surefoot.cli.progress import report_progress
from surefoot.cli.terminal import print_line
from surefoot.engines.explicit.engine import Explicit
from surefoot.engines.explicit.influence import is_about_states
from surefoot.errors import Unsupported
from surefoot.explore.initial_states import LateStarts
from surefoot.problem.problem import Problem
from surefoot.problem.property import (
    Eventually,
    Expected,
    Never,
    NeverBefore,
    Path,
    Probability,
    Recurs,
    Within,
)
from surefoot.problem.property_printer import show_property
from surefoot.run import verify
from surefoot.shields.export import c_actions, python_actions
from surefoot.shields.finite import FiniteShield, finite_shield
from surefoot.shields.finite.action_table import action_table, examples_of
from surefoot.shields.finite.arena import bad_condition, is_finite_environment
from surefoot.shields.finite.decision_tree import count_comparisons
from surefoot.solvers.markov import MarkovUndecided
from surefoot.term.printer import show_term
from surefoot.term.term import FALSE, Term
from surefoot.verdict.verdict import Exact, Proved, Result, Violated
from surefoot.visible import join_visible
from surefoot.work.budget import Budget
from surefoot.work.child import processor_time
from surefoot.work.deadline import call_in_time


@dataclass(frozen=True, slots=True, eq=False)
class FiniteSynthesis:
    """`anybody`: about whoever acts behind the shield. `alone`, `behind`: the model's own policy.

    After an interruption what was not asked yet is None; without an answer about anybody nothing is proved.
    """

    shield: FiniteShield
    bound: Fraction
    anybody: Result | None
    alone: Result | None
    behind: Result | None
    interrupted: bool = False

    @property
    def kept_by_anybody(self) -> bool:
        """Is it proved that whoever acts behind the shield keeps the bound, from every start?"""
        match None if self.anybody is None else self.anybody.verdict:
            case Proved():
                return self.is_accepted
            case Exact(_, Fraction() as high):
                return self.is_accepted and high <= 1 - self.bound
            case _:
                return False

    def notes(self) -> tuple[str, ...]:
        """What a reader must know besides."""
        told = list(self.shield.notes())
        if self.bound < 1 and self.anybody is not None and not self.kept_by_anybody:
            told.append(
                "risks that are permitted one by one add up over a run: only the safest actions are shown to "
                f"keep to {1 - self.bound}, not whoever acts behind the shield (`anybody`)"
            )
        return tuple(told)

    @property
    def safe_start_count(self) -> tuple[int, int]:
        """How many starts the safest actions keep as safe as asked for, of how many."""
        initial = self.shield.arena.markov.initial
        return int(self.shield.safest.kept[initial].sum()), len(initial)

    @property
    def is_accepted(self) -> bool:
        return (
            self.anybody is not None
            and self.anybody.certified
            and self.safe_start_count[0] == self.safe_start_count[1]
        )

    def certified_about(self) -> str:
        """What the accepted certificate says, in a sentence."""
        if not self.is_accepted or self.anybody is None:
            return "nothing"
        if isinstance(self.anybody.verdict, Proved):
            bad = show_term(bad_condition(self.shield.problem))
            return f"never {bad}, whoever acts behind the shield, from every start"
        return (
            "the probability in `anybody`, whoever acts behind the shield; that permitted actions keep the "
            "bound is computed exactly, and not certified"
        )

    def promise(self) -> str:
        bad = show_term(bad_condition(self.shield.problem))
        if self.bound == 1 and self.anybody is not None and isinstance(self.anybody.verdict, Proved):
            return f"Proved: from every start, whoever acts, never {bad}."
        return (
            "Computed exactly, not certified: after every permitted action, taking the safest ones from then "
            f"on avoids {bad} with probability {self.bound}{' or more' if self.bound < 1 else ''}."
        )


@dataclass(frozen=True, slots=True)
class ShieldFiles:
    """The files that `surefoot shield` was asked for."""

    certificate: str | None = None
    python: str | None = None
    c: str | None = None
    json: str | None = None


def run_finite_shield(
    problem: Problem,
    bound: Fraction,
    wanted: ShieldFiles,
    source: Mapping[str, object],
    inputs: Mapping[str, str],
    budget: Callable[[Callable[[str], None]], Budget],
    quiet: bool,
    goals: Mapping[str, Term] | None = None,
) -> int:
    """The whole command; exit 0 if the shield is certified, 3 if it is not, 130 if it was interrupted."""
    began = processor_time()
    try:
        with report_progress(quiet) as tell:
            made = _synthesise_in_time(problem, bound, budget(tell), goals)
    except KeyboardInterrupt:
        why = "there is no shield of a part: what may be permitted depends on all states that can be reached"
        print_line(f"interrupted: {why}", error=True)
        if wanted.json is not None:
            facts = {"schema": 1, "kind": "actions", "problem": problem.name, "certified": False,
                     "certified about": "nothing", "interrupted": True, "reason": why}  # fmt: skip
            write_facts(wanted.json, lambda: facts, quiet)
        return 130
    if isinstance(made, str):
        why = f"{made}; of a part of the states there is no shield"
        if wanted.json != "-":
            print_line(f"unknown (timeout): {why}")
        if wanted.json is not None:
            facts = {"schema": 1, "kind": "actions", "problem": problem.name, "certified": False,
                     "certified about": "nothing", "interrupted": False, "reason": why}  # fmt: skip
            write_facts(wanted.json, lambda: facts, quiet)
        return 3
    seconds = processor_time() - began
    _write_finite_shield(made, wanted.certificate, wanted.python, wanted.c, quiet)
    if wanted.json is not None:
        write_facts(wanted.json, lambda: _finite_synthesis_to_json(made, seconds, source, inputs), quiet)
    if wanted.json != "-":
        print(_render_finite_synthesis(made, seconds))
    if made.interrupted:
        return 130
    return 0 if made.is_accepted and made.kept_by_anybody else 3


def _synthesise_in_time(
    problem: Problem, bound: Fraction, budget: Budget, goals: Mapping[str, Term] | None = None
) -> FiniteSynthesis | str:
    """The shield with what is known about it, or what the time ended."""

    def attempt() -> FiniteSynthesis | str:
        return _synthesise_finite(problem, bound, budget, goals)

    try:
        return call_in_time(budget, attempt, lambda: "the time ended before there was a shield")
    except (LateStarts, MarkovUndecided, Unsupported) as why:
        if not budget.is_spent():
            raise
        return str(why)


def is_moved_by_actions(problem: Problem) -> bool:
    """Finitely many states and no controls."""
    environment = problem.environment
    return not environment.controls and environment.flow is None and is_finite_environment(environment)


def _synthesise_finite(
    problem: Problem, bound: Fraction, budget: Budget, goals: Mapping[str, Term] | None = None
) -> FiniteSynthesis:
    """The shield, what is proved about everybody, and about the policy of the model with and without it.

    An interruption before there is a shield is handed on: a part of it would permit too much. Later it ends
    the questions about the shield, and what was answered is kept.
    """
    shield = finite_shield(problem, 1 - bound, budget, goals=goals)
    anybody = alone = guarded = None
    try:
        anybody = verify(
            replace(shield.anybody(), property=_safety_property(problem, bound)), Explicit(), budget
        )
        if (behind := shield.shielded_problem()) is not None:
            chance = Probability(Path("F", bad_condition(problem)), None, "max")
            alone = _verify_uncertified(replace(problem, property=chance), budget)
            guarded = _verify_uncertified(replace(behind, property=chance), budget)
    except KeyboardInterrupt:
        return FiniteSynthesis(shield, bound, anybody, alone, guarded, interrupted=True)
    return FiniteSynthesis(shield, bound, anybody, alone, guarded)


def reachability_goals(problems: Mapping[str, Problem], about: Problem) -> dict[str, Term]:
    """What other properties of the same environment want to be reached, as far as it is about states."""
    found: dict[str, Term] = {}
    for name, problem in problems.items():
        match problem.property:
            case Eventually(goal) | Recurs(goal) | Within(goal) | NeverBefore(_, goal):
                found[name] = goal
            case Probability(Path("F" | "U", goal)) | Expected(_, goal):
                found[name] = goal
    same = {n: g for n, g in found.items() if problems[n].environment == about.environment}
    return {n: g for n, g in same.items() if g not in (bad_condition(about), FALSE) and is_about_states(g)}


def _verify_uncertified(problem: Problem, budget: Budget) -> Result:
    return verify(problem, Explicit(), budget, certificates=False)


def _safety_property(problem: Problem, bound: Fraction) -> Never | Probability:
    bad = bad_condition(problem)
    return Never(bad) if bound == 1 else Probability(Path("F", bad), None, "max")


def _render_finite_synthesis(made: FiniteSynthesis, seconds: float) -> str:
    """What was found, for people."""
    shield, (kept, starts) = made.shield, made.safe_start_count
    arena, count = shield.arena, len(shield.visited)
    may = sum(len(actions) for actions, _ in shield.classes) / max(1, len(shield.classes))
    lines = [
        f"problem      {shield.problem.name}",
        f"states       {arena.markov.states:,} reachable; {count:,} to act in behind the shield",
        f"actions      {len(arena.actions)}; {len(shield.classes)} permitted sets, mean size {may:.1f}",
        f"starts       {kept} of {starts} "
        + (
            "kept safe with probability 1, whatever happens"
            if made.bound == 1
            else f"can be kept safe with probability {made.bound} or more, by the safest actions alone"
        ),
        f"tree         {count_comparisons(shield.tree):,} comparisons of "
        f"{', '.join(c.name for c in shield.columns)}",
        f"anybody      {'not asked' if made.anybody is None else _describe_verdict(made.anybody)}",
    ]
    lines += [f"policy       {_describe_verdict(made.alone)} alone"] if made.alone is not None else []
    lines += (
        [f"             {_describe_verdict(made.behind)} behind the shield"]
        if made.behind is not None
        else []
    )
    lines += [f"note         {note}" for note in made.notes()]
    lines.append(f"seconds      {seconds:.1f} (processor time)")
    if made.interrupted:
        left = "nothing of it is proved" if made.anybody is None else "the shield is whole, not all was asked"
        lines.append(f"interrupted: {left}")
    return join_visible(lines)


def _describe_verdict(result: Result) -> str:
    match result.verdict:
        case Proved():
            return "never bad, proved: the independent checker accepted the certificate"
        case Exact(Fraction() as low, Fraction() as high):
            word = ", certified" if result.certified else ""
            return f"bad with probability {float(low):.6g} to {float(high):.6g} at most{word}"
        case Violated():
            return "violated: bad from a start that is not kept safe"
        case other:
            said = (getattr(other, name, "") for name in ("detail", "how", "why"))
            return f"{type(other).__name__.lower()}: {next(filter(None, said), '')}"


def _finite_synthesis_to_json(
    made: FiniteSynthesis, seconds: float, source: Mapping[str, object], inputs: Mapping[str, str]
) -> dict[str, Any]:
    """Everything as JSON."""
    table = action_table(made.shield, made.promise())
    return {
        "schema": 1,
        "kind": "actions",
        "problem": made.shield.problem.name,
        "property": show_property(made.shield.problem.property),
        "bound": str(made.bound),
        "promise": table.promise,
        "states": made.shield.arena.markov.states,
        "starts kept": list(made.safe_start_count),
        "certified": made.is_accepted,
        "certified about": made.certified_about(),
        "kept by anybody": made.kept_by_anybody,
        "notes": list(made.notes()),
        "interrupted": made.interrupted,
        "anybody": None if made.anybody is None else _describe_verdict(made.anybody),
        "policy": None if made.alone is None else _describe_verdict(made.alone),
        "shielded": None if made.behind is None else _describe_verdict(made.behind),
        "tree": {
            "state": list(table.state),
            "actions": list(table.actions),
            "root": table.root,
            "column": list(table.column),
            "limit": list(table.limit),
            "low": list(table.low),
            "high": list(table.high),
            "permitted": [list(p) for p in table.permitted],
            "instead": list(table.instead),
        },
        "source": dict(source),
        "inputs": dict(inputs),
        "cpu seconds": round(seconds, 3),
    }


def _write_finite_shield(
    made: FiniteSynthesis, certificate: str | None, python_path: str | None, c_prefix: str | None, quiet: bool
) -> None:
    """The files that were asked for: nothing that is not certified."""
    wanted = [p for p in (certificate, python_path, c_prefix) if p is not None]
    if not made.is_accepted:
        for path in wanted:
            print_line(f"not written: {path} (nothing is certified)", error=True)
        return
    table = action_table(made.shield, made.promise())
    if certificate is not None and made.anybody is not None:
        write_certificate(made.anybody, certificate, quiet)
    if python_path is not None:
        deliver_file(python_path, lambda: python_actions(table), quiet)
    if c_prefix is not None:
        header, source = c_actions(table, File(c_prefix).name, examples_of(made.shield))
        deliver_file(f"{c_prefix}.h", lambda: header, quiet)
        deliver_file(f"{c_prefix}.c", lambda: source, quiet)
