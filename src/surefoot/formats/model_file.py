"""A model in any supported file as problems: which files were read, and how to read them again."""

from __future__ import annotations

import hashlib
import runpy
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from traceback import walk_tb
from typing import Any

from surefoot.errors import InvalidProblem, SurefootError, Unsupported
from surefoot.formats.gymnasium.gym_name import names_gym_model
from surefoot.formats.loaded_policy import LoadedPolicy
from surefoot.formats.onnx.external_data import list_external_files
from surefoot.formats.policy_file import load_policy
from surefoot.formats.problem_file import read_problem_file, read_problems
from surefoot.formats.tables.action_table import names_action_table
from surefoot.formats.untrusted.regular_file import require_file
from surefoot.formats.wiring import (
    PolicyWiring,
    WiringChanges,
    wiring_changes_from_options,
    wiring_from_options,
    wiring_path,
)
from surefoot.problem.problem import Problem, in_time
from surefoot.problem.validate.distribution import normalise_probabilities
from surefoot.term.term import Term

PRISM_SUFFIXES = (".prism", ".nm", ".pm", ".sm")  # of models in the PRISM language


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """Problems by the name of their property, the files they came from, and how they were read."""

    problems: Mapping[str, Problem]
    inputs: Mapping[str, str]  # path -> sha256
    source: Mapping[str, object]
    predicates: Mapping[str, tuple[Term, ...]] = field(default_factory=dict)  # that a question names


def set_time_semantics(loaded: LoadedModel, time: str | None, method: str | None) -> LoadedModel:
    """The problems in that time; both are part of how they were read."""
    if time is None:
        if method is not None:
            what = "there is a method, and no time that it could be about"
            raise InvalidProblem(what, fix="say which time: steps or continuous", where="method")
        return loaded
    problems = {name: in_time(problem, time, method) for name, problem in loaded.problems.items()}
    more = {"time": time} | ({} if method is None else {"method": method})
    return replace(loaded, problems=problems, source={**loaded.source, **more})


def file_sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def read_model(
    model: Path,
    *,
    policy: Path | None = None,
    properties: tuple[str, ...] = (),
    constants: tuple[str, ...] = (),
    observe: str | None = None,
    actions: str | None = None,
    choose: str | None = None,
    output: str | None = None,
    normalize: Path | None = None,
    normalise: bool = False,
    trust_python: bool = False,
    no_policy: bool = False,
    ignore_goal: bool = False,
    bare: bool = False,
    property_file: Path | None = None,
) -> LoadedModel:
    """Read a problem file, JANI or PRISM model, or run trusted Python; every file that was read is hashed.

    `bare`: only the environment matters to the caller, so that a question may lack its policy.
    """
    if not names_gym_model(model):
        require_file(model)
    if policy is not None and names_action_table(policy) and not no_policy and model.suffix == ".jani":
        kept = read_model(
            model,
            properties=properties,
            constants=constants,
            normalise=normalise,
            no_policy=True,
            ignore_goal=ignore_goal,
        )
        beside = {"actions": actions, "choose": choose, "output": output, "normalize": normalize}
        return _with_action_table(kept, policy, observe, beside)
    settings = {
        "policy": policy,
        "observe": observe,
        "actions": actions,
        "choose": choose,
        "output": output,
        "normalize": normalize,
    }
    if no_policy and (given := next((k for k, v in settings.items() if v is not None), None)):
        what = f"there is no policy that --{given} could be about"
        raise InvalidProblem(what, fix="leave one of them out", where="--no-policy")
    if ignore_goal and model.suffix != ".jani":
        what = "only questions of PlaJA about a JANI model have an objective"
        raise InvalidProblem(what, fix="leave it out", where="--ignore-goal")
    if property_file is not None and model.suffix not in PRISM_SUFFIXES:
        fix = "ask with --property"
        raise InvalidProblem("only PRISM models have files with properties", fix=fix, where="--properties")
    predicates: Mapping[str, tuple[Term, ...]] = {}
    if names_gym_model(model):
        problems, read = _gym_problems(str(model), properties, constants, settings, normalise)
    elif model.suffix == ".py":
        told = {k: v for k, v in (*settings.items(), ("const", constants or None)) if v is not None}
        problems = _python_problems(model, trust_python, told)
        if properties:
            problems = {name: _select_property(problems, name, model) for name in properties}
        if normalise:
            problems = {name: _normalise_problem(problem) for name, problem in problems.items()}
        read = [model]
    elif model.suffix == ".toml":
        problems, read = _file_problems(model, properties, constants, settings, normalise)
    elif model.suffix == ".jani":
        from surefoot.formats.jani_model import JaniQuestionOptions, load_jani_problems

        read = [model]
        how = JaniQuestionOptions(
            policy, _wiring_from_options(settings, read), output, no_policy or bare, ignore_goal, normalise
        )
        problems, predicates = load_jani_problems(model, properties, parse_constants(constants), how, read)
    elif model.suffix in PRISM_SUFFIXES:
        from surefoot.formats.jani_model import JaniQuestionOptions
        from surefoot.formats.prism_model import load_prism_problems

        read = [model]
        how = JaniQuestionOptions(
            policy, _wiring_from_options(settings, read), output, no_policy or bare, ignore_goal, normalise
        )
        values = parse_constants(constants)
        problems = load_prism_problems(model, properties, values, how, read, property_file)
    else:
        fix = "give a problem file (.toml), a JANI or PRISM model, or a Python file with --trust-python"
        raise Unsupported(
            f"models of type `{model.suffix or 'without suffix'}` are not read", fix=fix, where=str(model)
        )
    source = {"kind": "model", "model": str(model), "constants": list(constants)}
    settings["property_file"] = property_file
    source |= {k: str(v) for k, v in settings.items() if v is not None}
    flags = {"no_policy": no_policy, "ignore_goal": ignore_goal, "normalise": normalise}
    source |= {name: "yes" for name, given in flags.items() if given}
    if no_policy:
        problems = {name: replace(problem, policy=None) for name, problem in problems.items()}
    return LoadedModel(problems, {str(p): file_sha256(p) for p in dict.fromkeys(read)}, source, predicates)


def _with_action_table(
    loaded: LoadedModel, path: Path, observe: str | None, beside: Mapping[str, object]
) -> LoadedModel:
    """The problems with the policy that a table of actions is."""
    from surefoot.formats.tables.policy_wiring import environment_action_table, table_is_no_network

    if any(value is not None for value in beside.values()):
        raise table_is_no_network(path)
    terms = None if observe is None else wiring_from_options(observe).observe
    found = {}
    for name, problem in loaded.problems.items():
        acting = environment_action_table(path, problem.environment, terms)
        found[name] = replace(problem, policy=acting)
    source = {key: value for key, value in loaded.source.items() if key != "no_policy"}
    source |= {"policy": str(path)} | ({} if observe is None else {"observe": observe})
    inputs = {**loaded.inputs, str(path): file_sha256(path)}
    return replace(loaded, problems=found, inputs=inputs, source=source)


def _file_problems(
    model: Path,
    properties: tuple[str, ...],
    constants: tuple[str, ...],
    settings: Mapping[str, Any],
    normalise: bool,
) -> tuple[dict[str, Problem], list[Path]]:
    read = [model]

    def load(network: Path, output: str | None) -> LoadedPolicy:
        read.append(network)
        if network.name.endswith((".onnx", ".onnx.gz")):
            read.extend(list_external_files(network))
        if wiring_path(network).is_file():
            read.append(wiring_path(network))
        return load_policy(network, output=output)

    options: dict[str, Any] = {
        "constants": parse_constants(constants),
        "policy": settings["policy"],
        "wiring": _wiring_from_options(settings, read),
        "output": settings["output"],
        "load": load,
        "normalise": normalise,
    }
    if settings["policy"] is not None and names_action_table(settings["policy"]):
        read.append(settings["policy"])
    if not properties:
        return read_problems(model, **options), read
    return {text: read_problem_file(model, property=text, **options) for text in properties}, read


def _gym_problems(
    model: str,
    properties: tuple[str, ...],
    constants: tuple[str, ...],
    settings: Mapping[str, Any],
    normalise: bool,
) -> tuple[dict[str, Problem], list[Path]]:
    """The problems of a library environment; what is read are the files of its policy."""
    from surefoot.formats.gymnasium.reader import read_gym_problems

    read: list[Path] = []
    wiring = _wiring_from_options(settings, read)
    found = read_gym_problems(
        model,
        properties,
        parse_constants(constants),
        settings["policy"],
        wiring,
        settings["output"],
        read.append,
    )
    return {name: _normalise_problem(p) if normalise else p for name, p in found.items()}, read


def _wiring_from_options(
    settings: Mapping[str, Any], read: list[Path]
) -> PolicyWiring | WiringChanges | None:
    """The whole wiring if --observe is given, else what replaces parts of the wiring in a file."""
    from surefoot.formats.normalization import read_normalization

    statistics = None
    if settings["normalize"] is not None:
        statistics = read_normalization(settings["normalize"])
        read.append(settings["normalize"])
    actions, choose = settings["actions"] or "", settings["choose"] or ""
    if settings["observe"] is not None:
        return replace(wiring_from_options(settings["observe"], actions, choose), normalize=statistics)
    if statistics is None and not actions and not choose:
        return None
    return replace(wiring_changes_from_options(actions, choose), normalize=statistics)


def parse_constants(texts: tuple[str, ...]) -> dict[str, str]:
    """What `--const N=16` says, by name."""
    given: dict[str, str] = {}
    for name, value in map(_parse_constant, texts):
        if name in given:
            raise InvalidProblem(f"`{name}` is given twice", fix="keep one of them", where="--const")
        given[name] = value
    return given


def _parse_constant(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip() or not value.strip():
        fix = f"write --const {name.strip() or 'N'}=16"
        raise InvalidProblem(f"`{text}` does not give a constant its value", fix=fix, where="--const")
    return name.strip(), value.strip()


def _normalise_problem(problem: Problem) -> Problem:
    return replace(problem, environment=normalise_probabilities(problem.environment))


def _select_property(problems: Mapping[str, Problem], name: str, model: Path) -> Problem:
    if name not in problems:
        known = ", ".join(f"`{n}`" for n in problems)
        raise InvalidProblem(f"there is no property `{name}`", fix=f"known: {known}", where=str(model))
    return problems[name]


def _python_problems(model: Path, trusted: bool, settings: Mapping[str, Any]) -> dict[str, Problem]:
    """A Python model defines `problem` (a `Problem`) or `problems` (a dictionary of them)."""
    if not trusted:
        fix = "read it, then pass --trust-python"
        raise InvalidProblem("a Python model is code that would be run", fix=fix, where=str(model))
    if settings:
        raise InvalidProblem(
            f"--{next(iter(settings))} is for problem files", fix="set it in the Python model"
        )
    namespace = _run_python(model)
    found = namespace.get("problems", namespace.get("problem"))
    problems = {found.name: found} if isinstance(found, Problem) else found
    if not isinstance(problems, dict) or not all(isinstance(p, Problem) for p in problems.values()):
        fix = "define `problem = Problem(...)` or `problems = {name: Problem(...)}`"
        raise InvalidProblem("the Python model builds no problem", fix=fix, where=str(model))
    return problems


def _run_python(model: Path) -> dict[str, Any]:
    """What the file defines; an error of its own code is told with its line, not as a defect of surefoot."""
    try:
        return runpy.run_path(str(model))
    except SurefootError:
        raise
    except (Exception, SystemExit) as error:
        said = " ".join(str(error).split()) or "no reason given"
        line = _line_in(model, error)
        raise InvalidProblem(
            f"the Python model ends with {type(error).__name__}: {said}",
            fix="correct the model; it runs alone with `python MODEL`",
            where=str(model) if line is None else f"{model}, line {line}",
        ) from error


def _line_in(model: Path, error: BaseException) -> int | None:
    """The last line of the model that was being run."""
    if isinstance(error, SyntaxError):
        return error.lineno
    run = walk_tb(error.__traceback__)
    lines = [number for frame, number in run if frame.f_code.co_filename == str(model)]
    return lines[-1] if lines else None
