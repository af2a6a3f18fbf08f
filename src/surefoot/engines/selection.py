"""Which engines take a problem; where none does, the reason that a user can act on comes first."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from surefoot.engines.protocol import Engine
from surefoot.errors import Unsupported
from surefoot.problem.environment import Environment
from surefoot.problem.policy import NeuralPolicy, nested_policies
from surefoot.problem.problem import Problem
from surefoot.problem.property import (
    Eventually,
    Expected,
    Never,
    NeverBefore,
    Probability,
    Property,
    Recurs,
    Timed,
)
from surefoot.term.term import Apply, Const, Op, Term
from surefoot.term.value_types import Bool, Int, Real
from surefoot.verdict.verdict import Reason, Refused
from surefoot.work.budget import Budget
from surefoot.work.deadline import call_in_time

OBJECTION_SHARE = 0.1  # of the time: for each of several engines to say whether it can take a problem
LEAST_OBJECTION_SECONDS = 1.0  # seconds for that
OBJECTION_NOT_KNOWN = Refused(
    Reason.TIMEOUT, "the time ended before it was known whether it can take the problem"
)
IN_CONTINUOUS_TIME = ("barrier", "falsify", "reach")
ONLY_FOR: dict[
    str, tuple[type, ...]
] = {  # kinds of questions; the other engines answer about runs of any kind
    "statistical": (Probability, Expected),
    "recurrence": (Eventually, Recurs),
    "predicates": (Never, NeverBefore),
    "barrier": (Never, NeverBefore),
}
# An element of an array by a variable index is as many cases for a solver; `predicates` may do with a table.
MOST_CASES = dict.fromkeys(("bmc", "induction", "recurrence", "reach"), 5000) | {"predicates": 20_000}
FIX = "; fix: "
LONGEST_CLAUSE = 90  # characters of an objection that is not the first
_OF_A_SOLVER = re.compile(r"\A`[\w-]+` cannot take this query: ")
_AT_STEP = re.compile(r"`([^`@]+)@\d+`")


Kind = TypeVar("Kind", bound=Engine)


class NoEngine(Unsupported):
    """Every engine has an objection."""


class ObjectionTimeout(NoEngine):
    """Some engine might have no objection, but finding that out takes longer than there is time."""


def choose_engine(problem: Problem, engines: Iterable[Engine]) -> Engine:
    """The first engine without objection; all objections in one error otherwise."""
    return applicable_engines(problem, engines, in_order=True)[0]


def applicable_engines(
    problem: Problem,
    engines: Iterable[Engine],
    *,
    in_order: bool = False,
    budget: Budget | None = None,
    meanwhile: Callable[[float], bool] | None = None,
) -> tuple[Engine, ...]:
    """Of each kind of engine the first without objection; all objections in one error if there is none.

    Whoever does not say in time whether it has one is passed over: to object may mean to encode a step.
    With several solvers an engine has that time once. Unless they are to be taken in order, solvers are tried
    as `order_solvers` says. `meanwhile` is called after each with the seconds that it took; where it returns
    true the problem is answered, and those that were found by then are all.
    """
    found: dict[str, Engine] = {}
    objections: list[tuple[str, Refused]] = []
    engines, budget = tuple(engines), budget or Budget()
    share = OBJECTION_SHARE if len({e.name for e in engines}) > 1 else 1.0
    taken: dict[str, float] = {}
    for engine in engines if in_order else order_solvers(problem, engines):
        if engine.name in found:
            continue
        before = budget.elapsed_seconds()
        why = objection_in_time(engine, problem, share, budget, taken.get(engine.name, 0.0))
        seconds = budget.elapsed_seconds() - before
        taken[engine.name] = taken.get(engine.name, 0.0) + seconds
        if why is None:
            found[engine.name] = engine
        else:
            objections.append((engine.name, why))
        if meanwhile is not None and meanwhile(seconds):
            return tuple(found.values())
    late = {name for name, why in objections if why.reason is Reason.TIMEOUT}
    if (
        not found and late and share < 1.0 and not budget.is_spent()
    ):  # nobody else can: they have all the time
        first = next(e.name for e in engines if e.name in late)
        alone = [e for e in engines if e.name == first]
        return applicable_engines(problem, alone, in_order=in_order, budget=budget, meanwhile=meanwhile)
    if not found:
        said = describe_objections(problem, [(name, str(why)) for name, why in objections])
        raise ObjectionTimeout(said) if late else NoEngine(said)
    return tuple(found.values())


def order_solvers(problem: Problem, engines: Iterable[Kind]) -> list[Kind]:
    """The native solver waits behind the others where a state has whole numbers or no network is asked: there
    a step is mostly a choice between cases, tried one by one."""
    policies = () if problem.policy is None else nested_policies(problem.policy)
    real = all(isinstance(v.kind, Real) for v in problem.environment.variables)
    waits = not real or not any(isinstance(p, NeuralPolicy) for p in policies)
    return sorted(engines, key=lambda e: waits and _solver_name(e) == "native")


def next_solver(engine: Engine, reserves: Iterable[Engine], problem: Problem) -> Engine | None:
    """The same kind of engine with another solver that can take the problem."""
    return next((e for e in reserves if e.name == engine.name and engine_objection(e, problem) is None), None)


def engine_objection(engine: Engine, problem: Problem) -> str | None:
    """Why an engine cannot take a problem; few of them know time between steps."""
    flow = problem.environment.flow
    if flow is not None and flow.continuous and engine.name not in IN_CONTINUOUS_TIME:
        return "it looks at steps, and the problem is about continuous time"
    most = MOST_CASES.get(engine.name)
    if most is not None and (count := count_array_constants(problem.environment)) > most:
        return f"steps look up {count} constants in arrays, each a case for a solver, at most {most}"
    return engine.objection(problem)


def count_array_constants(environment: Environment) -> int:
    """The entries of the constant arrays in the steps of an environment, of each array once."""
    edges = [edge for component in environment.components for edge in component.edges]
    waiting: list[Term] = [edge.guard for edge in edges]
    for outcome in (outcome for edge in edges for outcome in edge.outcomes):
        waiting += [outcome.probability, *(update.value for update in outcome.updates)]
    seen: set[int] = set()
    count = 0
    while waiting:
        part = waiting.pop()
        if isinstance(part, Apply) and id(part) not in seen:
            seen.add(id(part))
            if part.op is Op.ARRAY and part.args and isinstance(part.args[0], Const):
                count += len(part.args)
            else:
                waiting.extend(part.args)
    return count


def objection_in_time(
    engine: Engine, problem: Problem, share: float, budget: Budget, taken: float = 0.0
) -> Refused | None:
    """Its objection, if it is found in its share of the time, of which so many seconds are taken."""
    seconds = max(LEAST_OBJECTION_SECONDS, share * budget.seconds) - taken
    seconds = max(min(budget.remaining(), seconds), 0.0)

    def look() -> Refused | None:
        why = engine_objection(engine, problem)
        return None if why is None else Refused(Reason.INCOMPLETE, why)

    return call_in_time(Budget(seconds), look, lambda: OBJECTION_NOT_KNOWN)


def describe_objections(problem: Problem, objections: Sequence[tuple[str, str]]) -> str:
    """The reason of the engine that was nearest to an answer, with its fix; the others in a clause each."""
    nearest = _nearest_engines(problem)
    objections = [o for o in objections if answers_such_questions(o[0], problem.property)] or objections
    place = {name: n for n, name in enumerate(nearest)}
    ranked = sorted(objections, key=lambda o: (FIX not in o[1], place.get(o[0], len(nearest))))
    name, why = ranked[0]
    first = f"no engine can take this problem: {name}: {_without_steps(why)}"
    if len({n for n, _ in objections}) == 1:
        return first
    clauses: dict[str, list[str]] = {}  # engines by what they say
    seen = {name}
    for other, text in ranked:
        if other not in seen:
            seen.add(other)
            clauses.setdefault(_shorten_objection(other, text), []).append(other)
    others = "; ".join(f"{', '.join(names)}: {text}" for text, names in clauses.items())
    return f"{first} (others: {others})"


def answers_such_questions(engine: str, asked: Property) -> bool:
    """Is it worth saying why it cannot take this problem?"""
    if isinstance(asked, Probability | Expected):
        return engine in ("explicit", "statistical", "predicates")
    kind = ONLY_FOR.get(engine)
    plain = asked.asked if isinstance(asked, Timed) else asked
    return kind is None or isinstance(plain, kind)


def _shorten_objection(engine: str, text: str) -> str:
    plain = _without_steps(_OF_A_SOLVER.sub("", text)).split("; ")[0].removeprefix(f"{engine} ")
    return plain if len(plain) <= LONGEST_CLAUSE else f"{plain[: LONGEST_CLAUSE - 1].rstrip()}…"


def _without_steps(text: str) -> str:
    """Names as a model has them: `x`, not `x@0`."""
    return _AT_STEP.sub(r"\1", text)


def _nearest_engines(problem: Problem) -> tuple[str, ...]:
    """Engines in the order in which they are likely to answer a problem of this kind."""
    flow, asked = problem.environment.flow, problem.property
    if isinstance(asked, Probability | Expected):
        return ("explicit", "statistical", "predicates")
    if flow is not None and flow.continuous:
        return ("reach", "barrier", "falsify")
    if isinstance(asked, Eventually | Recurs):
        return ("recurrence", "reach", "bmc", "induction", "explicit")
    if all(_is_finite(v.kind) for v in problem.environment.variables):
        return ("explicit", "bmc", "predicates", "induction", "reach")
    return ("reach", "bmc", "induction", "barrier", "predicates", "explicit")


def _is_finite(kind: object) -> bool:
    return isinstance(kind, Bool) or (isinstance(kind, Int) and None not in (kind.low, kind.high))


def _solver_name(engine: Engine) -> str:
    return str(getattr(getattr(engine, "solver", None), "name", ""))
