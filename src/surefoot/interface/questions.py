"""Load, check, ask for a probability, check a certificate: what a user calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from itertools import product
from math import inf
from os import PathLike
from os.path import exists
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from surefoot.engines.protocol import Engine
from surefoot.errors import InvalidProblem, Unsupported, WrongType, did_you_mean
from surefoot.formats.gymnasium.gym_name import names_gym_model
from surefoot.formats.gymnasium.reader import select_gym_property
from surefoot.formats.model_file import read_model
from surefoot.formats.question_text import own_question_scope, parse_question_text, plain_question
from surefoot.interface.argument_names import tell_arguments
from surefoot.interface.environment import plain_environment
from surefoot.interface.expression import Expression, Operand, expression_from, number_from
from surefoot.interface.gym_environment import GymEnvironment, gym
from surefoot.interface.policy import FilePolicy
from surefoot.interface.ready_environment import (
    expand_policy_names,
    find_ready_property,
    wire_ready_policy,
)
from surefoot.interface.result import CheckResult
from surefoot.problem.environment import Environment as EnvironmentData
from surefoot.problem.policy import Policy, ProgramPolicy, take_policy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Expected, Probability, Property, take_property
from surefoot.problem.validate import environment_labels
from surefoot.run import verify_without_objection
from surefoot.search.find_witnesses import with_witnesses
from surefoot.term.arguments import (
    describe_value,
    take_in_range,
    take_named_tuple,
    take_optional,
    take_tuple,
    take_word,
    whole_number,
)
from surefoot.term.printer import show_term
from surefoot.term.term import Term
from surefoot.work.budget import Budget

if TYPE_CHECKING:
    from surefoot.interface.faults import PolicyFaults
    from surefoot.interface.heatmap import Heatmap
    from surefoot.interface.shield import ActionShield, CertifiedShield, SlidingShield

PathText: TypeAlias = str | PathLike[str]
EngineChoice: TypeAlias = Engine | str | Sequence[Engine | str] | None
DEFAULT_SECONDS = 60.0
_POLICY_SUFFIXES = (
    ".onnx",
    ".gz",
    ".zip",
    ".nnet",
    ".pt",
    ".pth",
    ".pkl",
    ".json",
    ".csv",
    ".npy",
)  # also of files that are refused
_ALSO_CALLED = dict.fromkeys(("budget", "seconds", "time", "time_limit"), "timeout") | {
    "random_state": "seed"
}


@dataclass(frozen=True, slots=True, repr=False)
class LoadedProblem(Problem):
    """A problem from a file, which a stored result names so that it can be read again."""

    inputs: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)  # path -> sha256
    source: Mapping[str, object] = field(default_factory=dict, repr=False, compare=False)
    as_read: Problem | None = field(default=None, repr=False, compare=False)

    def is_unchanged(self) -> bool:
        """Is it still what the file says, so that a result may name the file?"""
        read = self.as_read
        return (
            read is not None
            and self.environment is read.environment
            and self.policy is read.policy
            and self.property is read.property
        )


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
    found = _read_problems(
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


def _read_problems(path: PathText, property: str | None, **given: Any) -> list[LoadedProblem]:
    """Every problem that is asked for, with the files that it was read from."""
    options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if property is not None:
        if not isinstance(property, str):
            fix = 'give the name of a property, or one as text: "never x > 5"'
            raise WrongType(f"{describe_value(property)} is not the name of a property", fix=fix)
        options["properties"] = (property,)
    options["constants"] = _constant_texts(options.get("constants", {}))
    for name in ("policy", "normalize", "property_file"):
        if name in options:
            options[name] = _input_path(options[name])
    for name in ("observe", "actions"):
        if name in options and not isinstance(options[name], str):
            options[name] = ", ".join(take_named_tuple(name, options[name], _option_text))
    loaded = read_model(_input_path(path), **options)
    return [
        LoadedProblem(
            problem.name,
            problem.environment,
            problem.policy,
            problem.property,
            loaded.inputs,
            {**loaded.source, "property": name},
            problem,
        )
        for name, problem in loaded.problems.items()
    ]


def _input_path(given: object) -> Path:
    if not isinstance(given, str | PathLike):
        raise WrongType(f"{describe_value(given)} is not the path of a file", fix="give a str or a Path")
    return Path(given)


def _constant_texts(given: object) -> tuple[str, ...]:
    if not isinstance(given, Mapping):
        raise WrongType(f"{describe_value(given)} does not give constants", fix='write constants={"N": 16}')
    return tuple(f"{name}={_constant_text(value)}" for name, value in given.items())


def _constant_text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else str(number_from(value))


def _option_text(given: object) -> str:
    return given if isinstance(given, str) else show_term(expression_from(given).term)


@tell_arguments
def check(
    problem: Problem | EnvironmentData | PathText,
    policy: Policy | PathText | None = None,
    property: Property | str | None = None,
    *,
    engine: EngineChoice = None,
    timeout: float | None = DEFAULT_SECONDS,
    seed: int = 0,
    witnesses: int | None = None,
    **options: Any,
) -> CheckResult:
    """Decide a property. The problem is one from `load`, the path of its file, or an environment with the
    policy and the property that belong to it. Where the problem has a policy the property may stand second:
    `check("toy.toml", "below_ten")`; a text is a policy if there is such a file, or it is called like one.

    `engine`: "bmc", "induction", "recurrence", "explicit", "predicates", "barrier", "statistical", an object
    such as `Bmc(depth=8)`, or a list of them that work in turns; by default all that can. `options` are
    fields of the engine that is named: `depth=8`. `timeout` is in seconds, for everything; None: no limit.
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
    budget = _make_budget(timeout, seed)
    asked = pose_problem(problem, policy, property)
    if witnesses is None:
        return _answer(asked, engine, options, budget)
    count: Any = take_in_range(whole_number, 1)(witnesses)
    found = _answer(asked, engine, options, budget)
    return replace(found, data=with_witnesses(found.problem, found.data, count, budget))


@tell_arguments
def pose_problem(
    problem: Problem | EnvironmentData | PathText,
    policy: Policy | PathText | None = None,
    property: Property | str | None = None,
) -> Problem:
    """The one problem that these arguments of `check` mean; it can be given to `check` alone."""
    policy, property = _sort_second_argument(policy, property)
    return _problem_from(problem, policy, property)


@tell_arguments
def probability(
    problem: Problem | EnvironmentData | PathText,
    property: Property | str | None = None,
    *,
    policy: Policy | PathText | None = None,
    engine: EngineChoice = None,
    timeout: float | None = DEFAULT_SECONDS,
    seed: int = 0,
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
    budget = _make_budget(timeout, seed)
    asked = _problem_from(problem, policy, property)
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

    budget = _make_budget(timeout, seed)
    engines = select_engines(engine, options, ("x", "y", "where", "sweep"))
    if sweep is None:
        plain = plain_problem(_problem_from(problem, policy, property))
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
        title = ", ".join(f"{name} = {_constant_text(value)}" for name, value in constants.items())
        found[title] = plain_problem(_problem_from(given, policy, property, constants=constants))
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

    budget = _make_budget(timeout, seed)
    plain = plain_problem(_problem_from(problem, policy, property, needs_policy=False))
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

    budget, (policy, property) = _make_budget(timeout, seed), _sort_second_argument(policy, property)
    plain = plain_problem(_problem_from(problem, policy, property))
    counts: Any = [take_in_range(whole_number, least)(given) for given, least in ((runs, 1), (ahead, 0))]
    stored = None if shield is None else _input_path(shield)
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

        draw = partial(draw_values, plain, engines, budget.seconds, budget.seed)
    return CheckResult(plain, found, draw)


def plain_problem(given: Problem) -> Problem:
    """The data that engines read; a program without a list of actions may take all of them."""
    environment, policy = plain_environment(given.environment), given.policy
    if isinstance(policy, FilePolicy):
        policy = policy.as_data()
    if isinstance(policy, ProgramPolicy) and not policy.actions and not environment.controls:
        policy = replace(policy, actions=environment_labels(environment))
    return Problem(given.name, environment, policy, given.property)


def _make_budget(timeout: object, seed: object) -> Budget:
    try:
        number: Any = take_in_range(whole_number, 0, 2**64 - 1)(seed)
    except WrongType as error:
        raise error.at("seed") from None
    if timeout is None:
        return Budget(inf, number)
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not timeout > 0:
        what = f"{describe_value(timeout)} is not a positive number of seconds"
        raise WrongType(what, fix="give timeout=60, or None for no limit", where="timeout")
    return Budget(float(timeout), number)


def _sort_second_argument(policy: Any, property: Any) -> tuple[Any, Any]:
    """Policy and property: the second argument of `check` is the property where it cannot be a policy."""
    if isinstance(policy, Property):
        if property is not None:
            fix = "write check(problem, policy, property)"
            raise WrongType("a property stands where the policy is expected", fix=fix, where="policy")
        return None, policy
    if isinstance(policy, str) and property is None and not _names_policy_file(policy):
        return None, policy
    return policy, property


def _names_policy_file(text: str) -> bool:
    """Is there such a file, or is it called like one?"""
    is_path = " " not in text and any(mark in text for mark in ("/", "\\"))
    return exists(text) or is_path or Path(text).suffix in _POLICY_SUFFIXES


def _problem_from(
    given: object,
    policy: object,
    property: object,
    *,
    needs_policy: bool = True,
    constants: Mapping[str, object] | None = None,
) -> Problem:
    """The one problem that is meant."""
    if isinstance(given, Problem):
        return _change_problem(given, policy, property)
    given = _gym_environment_or_text(given, policy, property)
    if isinstance(given, GymEnvironment):
        return _problem_of_gym(given, policy, property, needs_policy)
    if isinstance(given, EnvironmentData):
        return _problem_of_environment(given, policy, property, needs_policy)
    if not isinstance(given, str | PathLike):
        fix = "give a problem from load(path), a path, or an environment with its policy and property"
        raise WrongType(f"{describe_value(given)} is not a problem", fix=fix)
    network = policy if isinstance(policy, str | PathLike) else None
    text = property if isinstance(property, str) else None
    found = _read_problems(given, text, policy=network, constants=constants)
    if len(found) > 1 and (property is None or text is not None):
        known = ", ".join(f"`{p.source['property']}`" for p in found)
        fix = "name one with property=…, or ask about each of load(path)"
        raise InvalidProblem(f"the file has {len(found)} properties: {known}", fix=fix, where=str(given))
    rest = None if network is not None else policy
    return _change_problem(found[0], rest, None if text is not None else property)


def _gym_environment_or_text(given: object, policy: object, property: object) -> object:
    """A library environment, or its name where all is read as from a file, so that results name it."""
    plain = all(part is None or isinstance(part, str | PathLike) for part in (policy, property))
    if isinstance(given, GymEnvironment):
        return given.text if plain and given.is_unchanged() else given
    if isinstance(given, str) and names_gym_model(given) and not plain:
        return gym(given)
    return given


def _problem_of_gym(
    environment: GymEnvironment, policy: object, property: object, needs_policy: bool
) -> Problem:
    """A library environment wires files by itself, and knows properties by name."""
    acting = environment.policy(policy) if isinstance(policy, str | PathLike) else policy
    asked = select_gym_property(environment.model, property) if isinstance(property, str) else property
    found = _problem_of_environment(environment, acting, asked, needs_policy)
    return environment.problem(found.policy, found.property)


def _change_problem(problem: Problem, policy: object, property: object) -> Problem:
    """The problem with another policy, or with another property."""
    if isinstance(policy, str | PathLike):
        fix = "give the path to load(path, policy=…), or Policy.from_file(path, observe=…, actions=…)"
        raise WrongType("a network alone does not say what it observes", fix=fix, where="policy")
    if policy is not None:
        problem = replace(problem, policy=_policy_from(policy))
    if property is not None:
        if isinstance(problem, LoadedProblem) and isinstance(property, str) and property.isidentifier():
            what = f"`{property}` is no property written out, and the problem has been read"
            fix = f'name it where it is read: load({problem.source.get("model")!r}, property="{property}")'
            raise InvalidProblem(what, fix=fix, where="property")
        problem = replace(problem, property=_property_from(property, problem.environment))
    return problem


def _policy_from(given: object) -> Policy:
    if callable(given) and not isinstance(given, type | Policy):
        fix = 'write it as rules, Policy.program([(x < 5, "up"), …]), or export it: Policy.from_file(path, …)'
        raise WrongType("a function in Python cannot be looked into", fix=fix, where="policy")
    taken: Any = take_policy(given)
    acting: Policy = taken
    return acting


def _problem_of_environment(
    environment: EnvironmentData, policy: object, property: object, needs_policy: bool
) -> Problem:
    if property is None:
        fix = 'give never(condition), eventually(condition), … or a text: "never x > 5"'
        raise WrongType("nothing is asked about the environment", fix=fix, where="property")
    asked = _property_from(property, environment)
    if isinstance(policy, str | PathLike):
        policy = wire_ready_policy(environment, _input_path(policy)) or policy
    if needs_policy and policy is None and not isinstance(asked, Probability | Expected):
        fix = (
            "give Policy.from_file(path, observe=…, actions=…) or Policy.program(rules); about everything "
            "that the environment can do: Problem(name, environment, None, property)"
        )
        raise WrongType("nobody acts in the environment", fix=fix, where="policy")
    if isinstance(policy, str | PathLike):
        fix = "write Policy.from_file(path, observe=…, actions=…)"
        raise WrongType("a network alone does not say what it observes", fix=fix, where="policy")
    acting = None if policy is None else expand_policy_names(_policy_from(policy), environment)
    return Problem(environment.name, environment, acting, asked)


def _property_from(given: object, environment: EnvironmentData) -> Property:
    if isinstance(given, Expression | Term):
        what = f"the condition `{show_term(expression_from(given).term)}` alone is no property"
        raise WrongType(
            what, fix="write never(…), eventually(…), recurs(…) or probability_of(…)", where="property"
        )
    if isinstance(given, list | tuple):
        raise WrongType("several properties are given", fix="ask about one at a time", where="property")
    if isinstance(given, Policy):
        fix = "write check(problem, policy, property)"
        raise WrongType("a policy stands where the property is expected", fix=fix, where="property")
    if not isinstance(given, str):
        asked: Any = take_property(given)
        found: Property = asked
        return found
    if (ready := find_ready_property(environment, given)) is not None:
        return ready
    names = [v.name for v in environment.variables] + [c.name for c in environment.controls]
    try:
        meant = dict(environment.definitions)
        known = own_question_scope(environment, meant)
        return plain_question(parse_question_text(given, names=names, constants=meant, prism=known))
    except (InvalidProblem, Unsupported) as error:
        raise error.at("property") from None


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
    arguments = (*arguments, "policy", "property", "engine", "timeout", "seed")
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
