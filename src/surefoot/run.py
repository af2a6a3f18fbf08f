"""The whole pipeline in one place: transform, choose an engine, check, certify."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from fractions import Fraction
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from surefoot.certify.evidence import CheckedEvidence, certify_verdict, leave_uncertified, say_unwanted
from surefoot.engines import ENGINES
from surefoot.engines.engine_text import describe_engine
from surefoot.engines.portfolio import (
    ConfirmingTurns,
    Meanwhile,
    PortfolioAnswer,
    look_first,
    look_last,
    take_turn,
    take_turns,
)
from surefoot.engines.protocol import Engine, Falsifier
from surefoot.engines.selection import (
    LEAST_OBJECTION_SECONDS,
    OBJECTION_SHARE,
    NoEngine,
    ObjectionTimeout,
    applicable_engines,
    engine_objection,
    objection_in_time,
    order_solvers,
)
from surefoot.engines.start_check import StartChecker
from surefoot.errors import SurefootError, Unsupported, WrongType, did_you_mean
from surefoot.problem.environment import Environment
from surefoot.problem.policy import Choose, NeuralPolicy, OraclePolicy, nested_policies
from surefoot.problem.problem import Problem
from surefoot.problem.property import (
    Eventually,
    Expected,
    Never,
    NeverBefore,
    Probability,
    Recurs,
    Timed,
    Within,
)
from surefoot.problem.validate import validate_problem
from surefoot.reductions.absorbing_goal import end_at_goal
from surefoot.reductions.discretise import discretise
from surefoot.solvers import SOLVERS
from surefoot.solvers.protocol import Solver
from surefoot.solvers.recording import Recording
from surefoot.term.arguments import describe_value, take_instance
from surefoot.term.float32 import contains_float32
from surefoot.term.interval import is_surely_defined
from surefoot.term.reserved_names import location_parts
from surefoot.term.term import Apply, Const, Op, Term, free_names
from surefoot.term.value_types import Bool, Real, ValueType
from surefoot.verdict.sentences import count_noun
from surefoot.verdict.verdict import (
    Estimated,
    Exact,
    Holds,
    PerStart,
    Proved,
    Reason,
    Result,
    Unknown,
    Vacuous,
    Verdict,
    Violated,
)
from surefoot.work.budget import Budget
from surefoot.work.interrupt import stop_if_interrupted

DEFAULT_SOLVERS = ("native", "milp")  # solvers that are tried unasked; see `order_solvers`
MOST_EDGES = 12  # named in a note
EVIDENCE_SHARE, MOST_EVIDENCE_SECONDS = (
    0.05,
    3.0,
)  # of the time, and seconds at most, that a search leaves for replay and certificate
PACKAGES = ("surefoot", "numpy", "highspy", "z3-solver", "onnx")


def verify(
    problem: Problem,
    engine: Engine | str | Sequence[Engine | str] | None = None,
    budget: Budget | None = None,
    *,
    inputs: Mapping[str, str] | None = None,
    source: Mapping[str, object] | None = None,
    certificates: bool = True,
) -> Result:
    """Decide a problem with one engine, or with those of several (None: all) that can take it, in turns.

    An engine is an object with its options, or a name: then it works with the solvers tried unasked.
    Without `certificates` a proof is the word of the solver: for searches that certify in the end. The budget
    is for all of it, evidence included: what was found late is not certified, and says so.

    >>> from surefoot import Budget, load, verify
    >>> verify(load("toy.toml", property="below_ten"), "bmc", Budget(60)).certified
    True
    """
    stop_if_interrupted()
    budget = Budget() if budget is None else take_instance(Budget, fix="give Budget(seconds=60)")(budget)
    engine = _resolve_engines(engine)
    started = budget.elapsed_seconds()
    validate_problem(problem)
    executed = discretise(problem, continuous=True)
    ending = end_at_goal(executed)
    vacuous, searching = _find_vacuity(executed), budget.elapsed_seconds()
    seen, begun = _look_before(ending, engine, budget) if vacuous is None else (None, {})
    meanwhile = Meanwhile(_list_engines(engine), ending, budget, begun)
    start: PortfolioAnswer | None = None
    search = replace(
        budget, seconds=budget.seconds - min(MOST_EVIDENCE_SECONDS, EVIDENCE_SHARE * budget.seconds)
    )
    try:
        engines = _select_engines(ending, engine, budget, meanwhile) if seen is None else seen.engines
    except NoEngine as objections:
        start = _check_start(ending, engine, (), budget, meanwhile) if vacuous is None else None
        seen, told = meanwhile.answer or start, ""
        if meanwhile.answer is None and (start is None or isinstance(start.verdict, Unknown)):
            seen, told = look_last(_list_engines(engine), ending, search, begun)
        if seen is None:
            if start is None and not isinstance(objections, ObjectionTimeout):
                what = f"{objections.what}; {told}" if told else objections.what
                raise NoEngine(what, fix=objections.fix) from None
            said = f"{objections}; {told}" if told else str(objections)
            reason = Reason.TIMEOUT if isinstance(objections, ObjectionTimeout) else Reason.INCOMPLETE
            return unanswered_result(
                problem,
                _add_start_knowledge(Unknown(reason, said), start),
                budget,
                inputs or {},
                source or {},
            )
        engines = seen.engines
    else:
        if seen is None and vacuous is None:
            if meanwhile.answer is None:
                start = _check_start(ending, engine, engines, budget, meanwhile)
            known = start is not None and not isinstance(start.verdict, Unknown)
            seen = meanwhile.answer or (start if known else None)
    reserves = _list_engines(engine)
    try:
        if vacuous is not None:
            answered = PortfolioAnswer(vacuous, engines)
        else:
            answered = seen or take_turns(engines, ending, search, begun, reserves)
    except Unsupported as why:  # found out at work
        if (
            engine is not None and len({e.name for e in _list_engines(engine)}) == 1
        ):  # it was asked for by name
            raise
        answered = PortfolioAnswer(Unknown(Reason.INCOMPLETE, str(why)), engines)
    if isinstance(answered.verdict, Unknown):
        answered = replace(answered, verdict=_add_start_knowledge(answered.verdict, start))
    replaying = budget.elapsed_seconds()

    def certify_answer(found: PortfolioAnswer) -> CheckedEvidence:
        solver = getattr(found.engines[0], "solver", found.engines[0])
        if not certificates:
            return leave_uncertified(executed, found.verdict, solver.name, budget)
        try:
            return certify_verdict(executed, found.verdict, solver.name, source or {}, inputs or {}, budget)
        except KeyboardInterrupt:
            return CheckedEvidence(_explain_interrupt(found.verdict), False)

    evidence = certify_answer(answered)
    if isinstance(answered.verdict, Violated | Proved) and isinstance(evidence.verdict, Unknown):
        told = evidence.verdict.detail  # what was found is no answer
        if seen is not None:
            engines = _select_engines(ending, engine, budget)
    else:
        told = ""
    others = tuple(e for e in engines if e not in answered.engines)
    if others and told:
        answered = take_turns(others, ending, search, reserves=reserves)
        evidence = certify_answer(answered)
        evidence = replace(evidence, notes=(*evidence.notes, told))
    timings = {"search": replaying - searching, "certify": budget.elapsed_seconds() - replaying}
    result = unanswered_result(problem, evidence.verdict, budget, inputs or {}, source or {})
    influence = _influence_notes(ending, evidence.verdict, budget) if certificates else ()
    return replace(
        result,
        notes=result.notes + evidence.notes + influence,
        engine=" | ".join(map(describe_engine, answered.engines)),
        certified=evidence.certified,
        seconds=budget.elapsed_seconds() - started,
        timings=timings,
        unchecked=evidence.unchecked,
    )


def _explain_interrupt(verdict: Verdict) -> Unknown:
    """What was found but not checked is no answer; it is told, with its picture."""
    what = (
        "a proof"
        if isinstance(verdict, Proved)
        else "a violation"
        if isinstance(verdict, Violated)
        else "an answer"
    )
    words = f"{what} was found and not checked yet: interrupted by the user"
    return Unknown(Reason.INTERRUPTED, words, artifact=getattr(verdict, "artifact", None))


def _look_before(
    problem: Problem, given: Engine | Sequence[Engine] | None, budget: Budget
) -> tuple[PortfolioAnswer | None, dict[str, ConfirmingTurns]]:
    """A short look for violations where several engines may be asked."""
    if given is not None and not isinstance(given, Sequence):
        return None, {}
    return look_first(_list_engines(given), problem, budget)


def _check_start(
    problem: Problem,
    given: Engine | Sequence[Engine] | None,
    chosen: Sequence[Engine],
    budget: Budget,
    meanwhile: Meanwhile,
) -> PortfolioAnswer | None:
    """What is known of the starts where those that would look at them cannot take a step."""
    able = [e for e in _list_engines(given) if isinstance(e, StartChecker)]
    if {e.name for e in able} & {e.name for e in chosen}:
        return None
    for engine in order_solvers(problem, able):
        seconds = min(budget.remaining(), max(LEAST_OBJECTION_SECONDS, OBJECTION_SHARE * budget.seconds))
        share = budget.begin_part(seconds)
        before = budget.elapsed_seconds()
        found = take_turn(engine.check_start, problem, share, budget)
        if not isinstance(found, Unknown) or found.holds_up_to is not None:
            return PortfolioAnswer(found, (engine,))
        if meanwhile.look_on(budget.elapsed_seconds() - before):
            return meanwhile.answer
    return None


def _add_start_knowledge(unknown: Unknown, start: PortfolioAnswer | None) -> Unknown:
    """That no start is bad, where nothing else is known."""
    if unknown.holds_up_to is not None or start is None or not isinstance(start.verdict, Unknown):
        return unknown
    known = start.verdict
    return replace(unknown, holds_up_to=known.holds_up_to, uncertified_by=known.uncertified_by)


def verify_without_objection(
    problem: Problem,
    engines: Engine | str | Sequence[Engine | str] | None,
    budget: Budget,
    inputs: Mapping[str, str],
    source: Mapping[str, object],
    *,
    named: bool,
    certificates: bool = True,
) -> Result:
    """The answer of the engines without objection; that there is none is an answer, unless named."""
    try:
        found = verify(problem, engines, budget, inputs=inputs, source=source, certificates=certificates)
        return _with_fault(problem, found if certificates else say_unwanted(found), budget)
    except NoEngine as objections:
        if named:
            raise
        told = Unknown(Reason.INCOMPLETE, str(objections))
        plain = unanswered_result(problem, told, budget, inputs, source)
        return replace(plain, seconds=budget.elapsed_seconds())


def _with_fault(problem: Problem, result: Result, budget: Budget) -> Result:
    """A violation that was replayed, with the last decision that could have been different."""
    if not (isinstance(result.verdict, Violated) and result.certified):
        return result
    from surefoot.fault_analysis.last_decision import find_fault_beside  # with all that it needs

    return replace(result, fault=find_fault_beside(problem, result.verdict.trace, budget, result.seconds))


def _list_engines(engines: Engine | Sequence[Engine] | None) -> Sequence[Engine]:
    if engines is None:
        return build_portfolio()
    return engines if isinstance(engines, Sequence) else (engines,)


def _resolve_engines(given: Engine | str | Sequence[Engine | str] | None) -> Engine | Sequence[Engine] | None:
    """Engines, those of a name, or None for all of them."""
    if given is None:
        return None
    if isinstance(given, Sequence) and not isinstance(given, str):
        if not given:
            fix = 'leave `engine` out for all that can take the problem, or name one: "bmc"'
            raise WrongType("the list of engines is empty", fix=fix, where="engine")
        return [engine for one in given for engine in _engines_of(one)]
    found = _engines_of(given)
    return found if isinstance(given, str) else found[0]


def _engines_of(given: Engine | str) -> list[Engine]:
    if isinstance(given, str):
        if given not in ENGINES:
            raise WrongType(f"unknown engine {given!r}", fix=did_you_mean(given, ENGINES))
        return [e for e in build_portfolio() if e.name == given]
    if isinstance(given, type) or not (hasattr(given, "objection") and hasattr(given, "check")):
        fix = 'give its name, as in "bmc", or Bmc(depth=9)'
        raise WrongType(f"{describe_value(given)} is not an engine", fix=fix)
    return [given]


def _influence_notes(problem: Problem, verdict: Verdict, budget: Budget) -> tuple[str, ...]:
    """What part the policy has in an answer, where that is seen at a glance."""
    from surefoot.engines.explicit.influence import notes_on_influence  # with all that it needs

    match verdict:
        case Proved() | Holds(as_asked=True):
            return notes_on_influence(problem, True, budget)
        case Violated() | Exact() | PerStart() | Estimated():
            return notes_on_influence(problem, False, budget)
        case _:
            return ()


def unanswered_result(
    problem: Problem,
    verdict: Verdict,
    budget: Budget,
    inputs: Mapping[str, str],
    source: Mapping[str, object],
) -> Result:
    """A result that no engine has worked for: everything about it but engine, evidence and time."""
    return Result(
        problem=problem.name,
        engine="none",
        verdict=verdict,
        certified=False,
        arithmetic=arithmetic_of(problem, in_reals_only(verdict)),
        seed=budget.seed,
        versions=package_versions(),
        inputs=dict(inputs),
        seconds=0.0,
        notes=_problem_notes(problem),
        source=dict(source),
    )


def in_reals_only(verdict: Verdict) -> bool:
    """Is it a proof that says nothing about rounding?"""
    return isinstance(verdict, Proved) and verdict.arithmetic == "proved-real"


def arithmetic_of(problem: Problem, real: bool) -> str:
    """For which evaluation of network and environment an answer is meant."""
    environment, flow = f"environment {problem.environment.arithmetic.value}", problem.environment.flow
    if flow is not None and flow.continuous:
        environment = (
            f"differential equation in real numbers, controls {problem.environment.arithmetic.value}"
        )
    if not _networks_of(problem):
        return environment
    return f"network {'in exact real arithmetic' if real else 'float32'}, {environment}"


def _networks_of(problem: Problem) -> list[NeuralPolicy]:
    """All that the policy may ask."""
    parts = () if problem.policy is None else nested_policies(problem.policy)
    return [part for part in parts if isinstance(part, NeuralPolicy)]


def build_portfolio(solvers: Iterable[str] = DEFAULT_SOLVERS) -> list[Engine]:
    """Every engine with every solver that is tried unasked, cheapest first."""
    found: list[Engine] = []
    for kind in ENGINES.values():
        if any(f.name == "solver" for f in fields(kind)):  # type: ignore[arg-type]
            found += [kind(**{"solver": SOLVERS[name]()}) for name in solvers]
        else:
            found.append(kind())
    return found


def build_engines_of(
    names: Sequence[str], options: Mapping[str, Any], dump: Path | None = None
) -> list[Engine]:
    """The named engines, each with those of the options that it has and that are not None.

    `solver` is the name of one; without it an engine stands there once for each that is tried unasked. Every
    query is written to the folder `dump`.
    """
    found: list[Engine] = []
    solvers = [options["solver"]] if options.get("solver") else DEFAULT_SOLVERS
    for kind in (ENGINES[name] for name in names):
        known = {f.name for f in fields(kind)}  # type: ignore[arg-type]
        given = {n: v for n, v in options.items() if n in known and n != "solver" and v is not None}
        if "solver" not in known:
            found.append(kind(**given))
            continue
        for name in solvers:
            solver: Solver = SOLVERS[name]()
            found.append(kind(**{**given, "solver": solver if dump is None else Recording(solver, dump)}))
    return found


def require_applicable(problem: Problem, engines: Sequence[Engine]) -> None:
    """An error with all objections, unless one of the engines can take the problem as it is executed."""
    applicable_engines(end_at_goal(discretise(problem, continuous=True)), engines)


def portfolio_objections(problem: Problem) -> list[tuple[Engine, str | None]]:
    """Every engine that is tried unasked, and why it cannot take the problem; None: it can."""
    found: list[tuple[Engine, str | None]] = []
    for engine in build_portfolio():
        try:
            why = engine_objection(engine, end_at_goal(discretise(problem, continuous=True)))
        except SurefootError as error:
            why = str(error)
        found.append((engine, why))
    return found


def _select_engines(
    problem: Problem,
    given: Engine | Sequence[Engine] | None,
    budget: Budget,
    meanwhile: Meanwhile | None = None,
) -> tuple[Engine, ...]:
    """Those that can take it; one that only looks for violations does not make a problem answerable."""
    if given is None or isinstance(given, Sequence):
        engines = _list_engines(given)
        others = [e for e in engines if not isinstance(e, Falsifier)]
        if not others:
            return applicable_engines(problem, engines, budget=budget)
        looking = [e for e in engines if e not in others and engine_objection(e, problem) is None]
        between = None if meanwhile is None else meanwhile.look_on
        return (*looking, *applicable_engines(problem, others, budget=budget, meanwhile=between))
    if (why := objection_in_time(given, problem, 1.0, budget)) is not None:
        if why.reason is Reason.TIMEOUT:
            raise ObjectionTimeout(f"{given.name}: {why}")
        raise NoEngine(why.detail, fix="run `surefoot engines MODEL` to see which engine can take it")
    return (given,)


def _find_vacuity(problem: Problem) -> Vacuous | None:
    """Reasons that no solver sees: a condition that nothing can meet, a float32 kind without any value."""
    environment = problem.environment
    match problem.property:
        case Never(bad) | NeverBefore(bad) if constant_truth(bad, environment) is False:
            return Vacuous("the condition of the property is false in every state")
        case Timed(Never(bad) | NeverBefore(bad)) if constant_truth(bad, environment) is False:
            return Vacuous("the condition of the property is false in every state")
        case Within(good, _, 0) | Eventually(good) | Recurs(good) | Timed(Eventually(good), _, 0) if (
            constant_truth(good, environment) is True
        ):
            # Not `Within` a later state: a run that ends before it violates the property whatever is good.
            return Vacuous("the condition of the property is true in every state")
    for variable in problem.environment.variables:
        match variable.kind:
            case Real(Fraction() | int() as low, Fraction() | int() as high, True):
                if not contains_float32(Fraction(low), Fraction(high)):
                    return Vacuous(f"`{variable.name}` lies between two neighbouring float32 numbers")
    return None


def constant_truth(condition: Term, environment: Environment) -> bool | None:
    """The value of a condition that has the same one everywhere, as far as its form shows.

    Everywhere: also no state may be without a value, as `x / x = x / x` is where x is 0.
    """
    match condition:
        case Const(bool() as value):
            return value
        case Apply(Op.LE | Op.EQ | Op.LT as op, (left, right)) if left == right:
            return op is not Op.LT if _is_total(left, environment) else None
        case Apply(Op.NOT, (inner,)):
            opposite = constant_truth(inner, environment)
            return None if opposite is None else not opposite
        case Apply(Op.AND | Op.OR as op, parts):
            return _connective_truth(parts, op is Op.OR, environment)
        case _:
            return None


def _connective_truth(parts: tuple[Term, ...], deciding: bool, environment: Environment) -> bool | None:
    """One deciding part is enough, if those before it have a value; else all parts have the other one."""
    others = True
    for part in parts:
        value = constant_truth(part, environment)
        if value is deciding:
            return deciding
        if value is None and not _is_total(part, environment):
            return None
        others = others and value is not None
    return not deciding if others else None


def _is_total(term: Term, environment: Environment) -> bool:
    """Has the term a value in every state? What a policy decides may have none, and floats may overflow."""
    kinds: dict[str, ValueType] = {v.name: v.kind for v in environment.variables}
    kinds |= {n: Bool() for n in free_names(term) if n not in kinds and location_parts(n) is not None}
    return is_surely_defined(term, kinds, environment.arithmetic)


def _problem_notes(problem: Problem) -> tuple[str, ...]:
    """What a reader of the result must know about how the problem was read."""
    found = [*_normalisation_notes(problem.environment.normalised), *problem.environment.notes]
    if (flow := problem.environment.flow) is not None and flow.continuous:
        found.append(
            f"time is continuous: the state is seen and controls are set every {flow.control_period}, "
            "disturbances may change at any time, and what is proved holds at all times"
        )
    if problem.environment.start_laws:
        found.append("laws of start values count where an average over starts is asked for, and else nowhere")
    if problem.environment.overapproximate:
        found.append("the environment is an over-approximation: a trace may not exist in the real system")
    if problem.policy is None and not isinstance(problem.property, Probability | Expected):
        found.append("there is no policy: the answer is about everything that the environment can do")
    if isinstance(problem.policy, OraclePolicy):
        found.append(f"the policy `{problem.policy.name}` is a black box: it can be sampled only")
    for asked in _networks_of(problem):
        found += [*asked.notes, *asked.network.notes]
        if asked.choose in (Choose.ARGMAX, Choose.ARGMAX_APPLICABLE):
            found.append("ties: the lowest output in a trace; `holds` covers every action within rounding")
    return tuple(dict.fromkeys(found))


def _normalisation_notes(edges: tuple[str, ...]) -> tuple[str, ...]:
    """Which probabilities are not those of the file."""
    if not edges:
        return ()
    named = ", ".join(edges[:MOST_EDGES]) + (", …" if len(edges) > MOST_EDGES else "")
    how = "divided by their sum, which was within 1e-9 of 1 but not 1"
    return (f"normalised: the probabilities of {count_noun(len(edges), 'edge')} were {how}: {named}",)


def package_versions() -> dict[str, str]:
    """Versions of everything an answer may depend on."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
