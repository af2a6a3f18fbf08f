"""Load, check, ask for a probability, check a certificate: what a user calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from itertools import product
from math import inf
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from surefoot.engines.protocol import Engine
from surefoot.errors import InvalidProblem, WrongType, did_you_mean
from surefoot.interface.argument_names import tell_arguments
from surefoot.interface.environment import plain_environment
from surefoot.interface.expression import Operand
from surefoot.interface.policy import FilePolicy
from surefoot.interface.pose_problem import (
    LoadedProblem,
    PathText,
    pose_problem,
    problem_from_arguments,
    read_loaded_problems,
    show_constant,
    sort_second_argument,
    take_input_path,
)
from surefoot.interface.result import CheckResult
from surefoot.problem.environment import Environment as EnvironmentData
from surefoot.problem.policy import Policy, ProgramPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Expected, Probability, Property
from surefoot.problem.validate import environment_labels
from surefoot.run import verify_without_objection
from surefoot.search.find_witnesses import with_witnesses
from surefoot.term.arguments import (
    describe_value,
    take_in_range,
    take_optional,
    take_tuple,
    take_word,
    whole_number,
)
from surefoot.work.budget import Budget

if TYPE_CHECKING:
    from surefoot.interface.faults import PolicyFaults
    from surefoot.interface.heatmap import Heatmap
    from surefoot.interface.shield import ActionShield, CertifiedShield, SlidingShield

EngineChoice: TypeAlias = Engine | str | Sequence[Engine | str] | None
DEFAULT_SECONDS = 60.0
_ALSO_CALLED = dict.fromkeys(("budget", "seconds", "time", "time_limit"), "timeout") | {
    "random_state": "seed"
}


@tell_arguments
def load(
    path: PathText,
    property: str | None = None,
    *,
    policy: PathText | None = None,
    constants: Mapping[str, object] | None = None,
    observe: str | Sequence[Operand] | None = None,
    actions: str | Sequence[str] | None = None,
    choose: str | None = None,
    output: str | None = None,
    normalize: PathText | None = None,
    normalise: bool = False,
    no_policy: bool = False,
    ignore_goal: bool = False,
    trust_python: bool = False,
    property_file: PathText | None = None,
) -> Any:
    """The problem of a file: .toml, .jani (also with PlaJA's questions), .prism, .nm, .pm or .sm (with
    `property_file`), .py with `trust_python`.

    `property` is the name of one of its properties or one written out. Where the file has several and none
    is named, a list of problems. `policy` is the file of another network; the other arguments are the
    options of the same name of `surefoot check`.

    >>> from surefoot import check, load
    >>> problem = load("toy.toml", property="below_ten")
    >>> check(problem, engine="bmc", timeout=60).violated
    True
    """
    found = read_loaded_problems(
        path,
        property,
        policy=policy,
        constants=constants,
        observe=observe,
        actions=actions,
        choose=choose,
        output=output,
        normalize=normalize,
        normalise=normalise,
        no_policy=no_policy,
        ignore_goal=ignore_goal,
        trust_python=trust_python,
        property_file=property_file,
    )
    return found[0] if len(found) == 1 else found


@tell_arguments
def check(
    problem: Problem | EnvironmentData | PathText,
    policy: Policy | PathText | None = None,
    property: Property | str | None = None,
    *,
    engine: EngineChoice = None,
    timeout: float | None = DEFAULT_SECONDS,
    seed: int = 0,
    workers: int | None = None,
    witnesses: int | None = None,
    **options: Any,
) -> CheckResult:
    """Decide a property. The problem is one from `load`, the path of its file, or an environment with the
    policy and the property that belong to it. Where the problem has a policy the property may stand second:
    `check("toy.toml", "below_ten")`; a text is a policy if there is such a file, or it is called like one.

    `engine`: "bmc", "induction", "recurrence", "explicit", "predicates", "barrier", "statistical", an object
    such as `Bmc(depth=8)`, or a list of them that work in turns; by default all that can. `options` are
    fields of the engine that is named: `depth=8`. `timeout` is in seconds, for everything; None: no limit.
    `workers`: processes at the same time, by default one for each usable processor; the answer is the same.
    `witnesses`: how many runs are to show a violation; they are the `witnesses` of the result.

    >>> from surefoot import Environment, Policy, integer, never
    >>> x = integer("x", 0, 9)
    >>> env = Environment("counter", start=x == 0)
    >>> env = env.edge("up", guard=x < 9, update={x: x + 1}).edge("reset", update={x: 0})
    >>> policy = Policy.program([(x < 4, "up"), (x >= 4, "reset")])
    >>> check(env, policy, never(x == 5)).proved
    True
    >>> [state["x"] for state in check(env, policy, never(x == 2)).trace.states]
    [0, 1, 2]
    """
    budget = _make_budget(timeout, seed, workers)
    asked = pose_problem(problem, policy, property)
    if witnesses is None:
        return _answer(asked, engine, options, budget)
    count: Any = take_in_range(whole_number, 1)(witnesses)
    found = _answer(asked, engine, options, budget)
    return replace(found, data=with_witnesses(found.problem, found.data, count, budget))


@tell_arguments
def probability(
    problem: Problem | EnvironmentData | PathText,
    property: Property | str | None = None,
    *,
    policy: Policy | PathText | None = None,
    engine: EngineChoice = None,
    timeout: float | None = DEFAULT_SECONDS,
    seed: int = 0,
    workers: int | None = None,
    **options: Any,
) -> CheckResult:
    """How likely something is, or what reward is expected: `low` and `high` are the ends of the value.

    >>> from fractions import Fraction
    >>> from surefoot import Environment, Policy, TRUE, integer, probability_of
    >>> x = integer("x", 0, 2)
    >>> coin = Environment("coin", start=x == 0).edge("toss", guard=x > 0)
    >>> coin = coin.edge("toss", guard=x == 0, outcomes=[("1/3", {x: 1}), ("2/3", {x: 2})])
    >>> value = probability(coin, probability_of(x == 1), policy=Policy.program([(TRUE, "toss")]))
    >>> value.low <= Fraction(1, 3) <= value.high, value.certified
    (True, True)
    """
    budget = _make_budget(timeout, seed, workers)
    asked = problem_from_arguments(problem, policy, property)
    if not isinstance(asked.property, Probability | Expected):
        fix = 'ask probability_of(condition), or a text such as "P=? [ F x = 3 ]"; other properties: check(…)'
        raise InvalidProblem("the property asks for no probability and no expected reward", fix=fix)
    return _answer(asked, engine, options, budget)


@tell_arguments
def heatmap(
    problem: Problem | EnvironmentData | PathText,
    property: Property | str | None = None,
    *,
    policy: Policy | PathText | None = None,
    x: Operand | None = None,
    y: Operand | None = None,
    where: Sequence[Operand] = (),
    sweep: Mapping[str, Sequence[object]] | None = None,
    engine: EngineChoice = "explicit",
    timeout: float | None = DEFAULT_SECONDS,
    seed: int = 0,
    workers: int | None = None,
    **options: Any,
) -> Heatmap:
    """The values of all starts as a picture, over the expressions `x` and `y` of the state; by default over
    the one or two variables in which the starts differ. `save` writes it. `sweep` draws a map for each value
    of constants of a model file: `sweep={"noise": [0.1, 0.2]}`.

    >>> from surefoot import Environment, Policy, TRUE, integer, probability_of
    >>> n = integer("n", 0, 3)
    >>> walk = Environment("walk", start=(n >= 1) & (n <= 2)).edge("go", guard=(n == 0) | (n == 3))
    >>> walk = walk.edge("go", guard=(n == 1) | (n == 2), outcomes=[(0.5, {n: n + 1}), (0.5, {n: n - 1})])
    >>> drawn = heatmap(walk, probability_of(n == 3), policy=Policy.program([(TRUE, "go")]))
    >>> [start["n"] for start, value in drawn.result.verdict.table]
    [1, 2]
    """
    from surefoot.interface.heatmap import draw_variants

    budget = _make_budget(timeout, seed, workers)
    engines = select_engines(engine, options, ("x", "y", "where", "sweep"))
    if sweep is None:
        plain = plain_problem(problem_from_arguments(problem, policy, property))
        return draw_variants({plain.name: plain}, engines, budget, x=x, y=y, where=where)
    variants = _swept_problems(problem, policy, property, sweep)
    return draw_variants(variants, engines, budget, x=x, y=y, where=where)


def _swept_problems(given: object, policy: object, property: object, sweep: object) -> dict[str, Problem]:
    """By title the problems of a model file for all combinations of the values of its constants."""
    if not isinstance(given, str | PathLike) or not isinstance(sweep, Mapping) or not sweep:
        fix = 'give the path of a model file and sweep={"noise": [0.1, 0.2]}'
        raise WrongType("constants of a model file are swept", fix=fix, where="sweep")
    found: dict[str, Problem] = {}
    take_values: Any = take_tuple(lambda one: one, "values")
    for values in product(*(take_values(one) for one in sweep.values())):
        constants = dict(zip(sweep, values, strict=True))
        title = ", ".join(f"{name} = {show_constant(value)}" for name, value in constants.items())
        found[title] = plain_problem(problem_from_arguments(given, policy, property, constants=constants))
    if not found:
        raise WrongType(
            "there are no values to sweep", fix='write sweep={"noise": [0.1, 0.2]}', where="sweep"
        )
    return found


@tell_arguments
def shield(
    problem: Problem | EnvironmentData | PathText,
    property: Property | str | None = None,
    *,
    policy: Policy | PathText | None = None,
    degrees: Sequence[int] | None = None,
    sets: str = "auto",
    squares: str = "auto",
    rule: str = "",
    invariant: str = "",
    bound: Any = 1,
    timeout: float | None = DEFAULT_SECONDS,
    seed: int = 0,
    workers: int | None = None,
) -> CertifiedShield | ActionShield | SlidingShield:
    """A shield whose promise is certified: `covered`, `export_c`, `export_python`, `wrap`.

    With real controls: a program with proved safe sets, and a shield around the network. `degrees` of the
    polynomials that bound the sets: even numbers, tried in this order. `sets`: "auto", "polynomial" or
    "polyhedron"; `squares`: "auto", "sos" or "sdsos"; `rule` and `invariant` are sketches, lists of monomials
    as in the options of `surefoot shield`. Source code computes in float64: only shields of an environment
    with `arithmetic="float64"` can be exported or wrapped.

    With actions and finitely many states: which actions may be taken where. `bound`: how probable safety must
    stay after a permitted action.

    >>> from surefoot import Environment, integer, never
    >>> x = integer("x", 0, 9)
    >>> env = Environment("counter", start=x == 0)
    >>> env = env.edge("up", guard=x < 9, update={x: x + 1}).edge("reset", update={x: 0})
    >>> made = shield(env, never(x == 5))
    >>> made.accepted, made.covered
    (True, Fraction(1, 1))
    """
    from surefoot.interface.shield import make_shield
    from surefoot.shields.certified_shield import Sketches

    budget = _make_budget(timeout, seed, workers)
    plain = plain_problem(problem_from_arguments(problem, policy, property, needs_policy=False))
    return make_shield(plain, degrees, sets, squares, Sketches(rule, invariant), bound, budget)


@tell_arguments
def faults(
    problem: Problem | EnvironmentData | PathText,
    policy: Policy | PathText | None = None,
    property: Property | str | None = None,
    *,
    runs: int = 100,
    by: Literal["last", "costliest"] | None = None,
    ahead: int = 50,
    shield: PathText | None = None,
    timeout: float | None = DEFAULT_SECONDS,
    seed: int = 0,
    workers: int | None = None,
) -> PolicyFaults:
    """The last decisions that could have been different, of so many runs that violate a property, and how
    often each of them occurs. Arguments as of `check`. Exact in finite systems; elsewhere it is looked
    `ahead` steps beyond the violation, or `shield` is the file of one whose proved sets tell. Counted is
    `by` the last decision, or the costliest, which is the default where chance has a part.

    >>> from surefoot import Environment, Policy, integer, never
    >>> x = integer("x", 0, 9)
    >>> env = Environment("counter", start=x <= 3)
    >>> env = env.edge("up", guard=x < 9, update={x: x + 1}).edge("reset", update={x: 0})
    >>> found = faults(env, Policy.program([(x < 7, "up"), (x >= 7, "reset")]), never(x == 5))
    >>> [(d.fault.state["x"], d.fault.chosen[0].action, d.fault.safe[0].action) for d in found.decisions]
    [(4, 'up', 'reset')]
    """
    from surefoot.interface.faults import PolicyFaults
    from surefoot.search.fault_search import search_faults

    budget, (policy, property) = _make_budget(timeout, seed, workers), sort_second_argument(policy, property)
    plain = plain_problem(problem_from_arguments(problem, policy, property))
    counts: Any = [take_in_range(whole_number, least)(given) for given, least in ((runs, 1), (ahead, 0))]
    stored = None if shield is None else take_input_path(shield)
    kind: Any = take_optional(take_word("last", "costliest"))(by)
    return PolicyFaults(
        plain, search_faults(plain, budget, runs=counts[0], by=kind, ahead=counts[1], shield=stored).table
    )


def _answer(asked: Problem, engine: EngineChoice, options: Mapping[str, Any], budget: Budget) -> CheckResult:
    """Ask the engines; a result names the files of a problem that is as it was read."""
    inputs: Mapping[str, str] = {}
    source: Mapping[str, object] = {}
    if isinstance(asked, LoadedProblem) and asked.is_unchanged():
        inputs, source = asked.inputs, asked.source
    elif isinstance(asked.policy, FilePolicy):
        inputs = asked.policy.inputs
    plain = plain_problem(asked)
    engines = select_engines(engine, options)
    found = verify_without_objection(plain, engines, budget, inputs, source, named=engine is not None)
    draw = None
    if isinstance(plain.property, Probability | Expected):
        from surefoot.interface.heatmap import draw_values

        draw = partial(draw_values, plain, engines, budget)
    return CheckResult(plain, found, draw)


def plain_problem(given: Problem) -> Problem:
    """The data that engines read; a program without a list of actions may take all of them."""
    environment, policy = plain_environment(given.environment), given.policy
    if isinstance(policy, FilePolicy):
        policy = policy.as_data()
    if isinstance(policy, ProgramPolicy) and not policy.actions and not environment.controls:
        policy = replace(policy, actions=environment_labels(environment))
    return Problem(given.name, environment, policy, given.property)


def _make_budget(timeout: object, seed: object, workers: object) -> Budget:
    try:
        number: Any = take_in_range(whole_number, 0, 2**64 - 1)(seed)
    except WrongType as error:
        raise error.at("seed") from None
    try:
        count: Any = take_optional(take_in_range(whole_number, 1))(workers)
    except WrongType as error:
        raise error.at("workers") from None
    if timeout is None:
        return Budget(inf, number, workers=count)
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not timeout > 0:
        what = f"{describe_value(timeout)} is not a positive number of seconds"
        raise WrongType(what, fix="give timeout=60, or None for no limit", where="timeout")
    return Budget(float(timeout), number, workers=count)


def select_engines(
    engine: EngineChoice, options: Mapping[str, Any], arguments: Sequence[str] = ()
) -> Engine | str | Sequence[Engine | str] | None:
    """The engines that are asked for; options are fields of the one that is named. `arguments`: what else the
    function takes that was called with them."""
    if not options:
        return engine
    from surefoot.engines import ENGINES
    from surefoot.run import build_portfolio

    known = {name: [f.name for f in fields(kind)] for name, kind in ENGINES.items()}  # type: ignore[arg-type]
    unknown = next(iter(options))
    arguments = (*arguments, "policy", "property", "engine", "timeout", "seed", "workers")
    if not isinstance(engine, str):
        what = f"there is no argument `{unknown}`" if engine is None else f"`{unknown}` belongs to an engine"
        fix = 'options need the name of an engine: engine="bmc", depth=8'
        if not any(unknown in names for names in known.values()):
            fix = did_you_mean(_ALSO_CALLED.get(unknown, unknown), arguments)
        raise WrongType(what, fix=fix)
    if engine not in ENGINES:
        raise WrongType(f"unknown engine {engine!r}", fix=did_you_mean(engine, ENGINES))
    kind = ENGINES[engine]
    for name in options:
        if name not in known[engine]:
            fix = did_you_mean(_ALSO_CALLED.get(name, name), [*known[engine], *arguments])
            if owners := [other for other, names in known.items() if name in names]:
                fix = f"it belongs to {', '.join(owners)}; `{engine}` has {', '.join(known[engine])}"
            raise WrongType(f"engine `{engine}` has no option `{name}`", fix=fix)
    if "solver" in options or "solver" not in known[engine]:
        return kind(**options)
    return [replace(one, **options) for one in build_portfolio() if one.name == engine]  # type: ignore[type-var]
