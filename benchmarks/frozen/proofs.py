"""Certificates that the program itself writes: of studies, examples, random problems, models and queries."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.examples import EXAMPLES
from tests.laws.finite_systems import problems
from tests.laws.oracle.campaign import make_problem, write_case
from tests.laws.oracle.jani_text import reference
from tests.laws.oracle.questions import AboutRuns

from benchmarks import conformance, late_models, random_processes
from benchmarks.frozen.commands import fill_words, run_command
from benchmarks.frozen.stored import Made, find_certificates, find_files
from benchmarks.questions import questions
from surefoot import Bmc, Budget, Induction, Problem, SurefootError, verify
from surefoot.engines.barrier import Barrier
from surefoot.engines.explicit import Explicit
from surefoot.engines.predicates import Predicates
from surefoot.engines.protocol import Engine
from surefoot.engines.recurrence import Recurrence
from surefoot.solvers import SOLVERS
from surefoot_studies import STUDIES
from surefoot_studies.comparison import Expectation, load_study

SECONDS = 8.0  # for one answer
LIKE_OTHERS = ("aurora-48-2", "aurora-48-3", "aurora-48-4")  # policies trained like another one
LONG = 7.0  # seconds of an expectation that is left out
MOST_STATES = 30_000  # of a published model


def ask_command(source: str, words: Sequence[str], seconds: float = SECONDS) -> Iterator[Made]:
    """The certificates in the answer of one command."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        more = ["--certificate", str(folder / "c.json")] if words[0] == "shield" else []
        _, data = run_command([*words, *more, "--timeout", f"{seconds:g}"], folder)
        if (folder / "c.json").exists():  # that of a finite system is not in the answer
            data["certificate"] = json.loads((folder / "c.json").read_text())
        for certificate in find_certificates(data):
            named = find_files(certificate, folder)
            yield Made(source, " ".join(words), json.dumps(certificate), None, named)


def ask_engine(source: str, problem: Problem, engine: Engine) -> Iterator[Made]:
    """The certificate of an answer, if the engine takes the problem and there is one."""
    if engine.objection(problem) is not None:
        return
    try:
        verdict = verify(problem, engine, Budget(SECONDS)).verdict
    except SurefootError:
        return
    certificate = getattr(verdict, "certificate", None)
    if certificate is not None:
        yield Made(source, f"{problem.name}, {engine.name}", json.dumps(certificate.content))


def engines() -> Iterator[Engine]:
    native = SOLVERS["native"]()
    yield from (Bmc(native, depth=6), Induction(native, depth=4), Recurrence(native, depth=4))
    yield from (Explicit(), Predicates(), Barrier())


def prove_examples(seed: int, _: Path | None) -> Iterator[Made]:
    """Of the tests' examples with every engine, and of random finite systems."""
    for example in EXAMPLES:
        for engine in engines():
            yield from ask_engine("examples", example.problem, engine)
    for number in range(100 * seed, 100 * seed + 14):
        for problem in problems(number).values():
            for engine in engines():
                yield from ask_engine("finite systems", problem, engine)


def prove_processes(seed: int, _: Path | None) -> Iterator[Made]:
    """Values of random decision processes: bounds, and exact numbers."""
    for number in range(100 * seed, 100 * seed + 16):
        for problem, _, _ in random_processes.questions(number):
            for exact in (False, True):
                yield from ask_engine("random processes", problem, Explicit(tier="interpreter", exact=exact))


def prove_studies(_: int, __: Path | None) -> Iterator[Made]:
    """What the shipped studies prove in a few seconds."""
    for study in STUDIES:
        for one in load_study(study).expectations:
            if (
                one.verdict != "violated"
                and (one.seconds or 0) < LONG
                and not one.problem.endswith(LIKE_OTHERS)
            ):
                yield from ask_command(f"study {study}", words_of(study, one), 4 * SECONDS)


def words_of(study: str, one: Expectation) -> list[str]:
    """The command that asks what a study expects."""
    if one.engine == "shield":
        return ["shield", f"{study}/{one.problem}"]
    given = [word for name, value in one.options.items() for word in (f"--{name}", str(value))]
    return ["check", f"{study}/{one.problem}", "--engine", one.engine, *given]


def prove_random_problems(seed: int, _: Path | None) -> Iterator[Made]:
    """Of the models and questions that the tests' oracle makes: problem files and JANI models."""
    for number in range(1000 * seed, 1000 * seed + 120):
        case = make_problem(number)
        if case is None:
            continue
        with TemporaryDirectory() as name:
            path = write_case(case, Path(name))
            jani = case.model.jani
            more = ["--policy", str(path.parent / "policy.onnx")] if jani and case.model.policy else []
            for place, question in enumerate(case.questions):
                asked = reference(question, place) if jani else f"q{place}"
                several = (
                    ("explicit", "induction", "predicates")
                    if isinstance(question, AboutRuns)
                    else ("explicit",)
                )
                engine = several[(number + place) % len(several)]
                words = ["check", str(path), "--property", asked, "--engine", engine, *more]
                for made in ask_command("random problems", words):
                    yield Made(
                        made.source, f"seed {number}, {engine}: {question.text}", made.text, None, made.files
                    )


ABOUT_NETWORK = (
    *("P=? [ F x = 6 ] over values", "P=? [ F<=5 x = 6 ]", "P=? [ G<=4 x < 6 ] over values"),
    *("P=? [ X x = 1 ] over min", "P=? [ x < 5 U y = 6 ] over avg", "P=? [ x < 5 W y = 6 ] over sum"),
    *(
        "P=? [ x > 0 R y < 6 ]",
        "P=? [ F[2, 5] x = 6 ]",
        "P>=0.5 [ F x = 6 ]",
        "P=? [ F x = 6 ] over max of y = 3",
    ),
    *("E=? [ steps until x = 6 ] over values", "E=? [ steps for 10 steps ]", "E=? [ (x + y) until x = 0 ]"),
    *("E=? [ (x) until y = 6 for 7 steps ]", "never x = 6 and y = 0 before y = 3", "never x > 6"),
    *("eventually x = 0 or y > 0", "recurs x < 7", "within 3 (x <= 6) after 1", "never stalled for 4 steps"),
)
ABOUT_GRID = (
    *(
        "Pmax=? [ F x = 5 and y = 0 ]",
        "Pmin=? [ F x = 5 ]",
        "Pmax=? [ F<=9 x = 5 ]",
        "Pmin=? [ G[1, 4] z < 2 ]",
    ),
    *("Emax=? [ steps until x = 5 ]", "Emin=? [ steps until x = 5 ]", "Emax=? [ (x) for 6 steps ]"),
    *("Pmax=? [ x < 5 U y = 5 ] over values of z = 0", "Pmin=? [ F x = 5 ] over argmax of y = 0"),
    *("never x = 5 and y = 5 and x < y", "never x > 3 before y > 0", "never z > 4 for 4 steps"),
    *("within 2 (x <= 2)", "recurs x >= 0", "eventually x >= 0"),
)
COMMANDS = (  # of the models that `late_models` writes, and of studies
    *(("ridge", f"check {{}} --property '{asked}' --engine explicit") for asked in ABOUT_NETWORK),
    *(("grid", f"check {{}} --property '{asked}' --engine explicit") for asked in ABOUT_GRID),
    *(("grid", f"check {{}} --property '{asked}' --engine predicates") for asked in ABOUT_GRID[9:11]),
    *(("ridge", f"check {{}} --property '{asked}'") for asked in ABOUT_NETWORK[14:]),
    ("ridge", "check {} --property 'P=? [ F x = 6 ] over avg' --engine explicit --exact"),
    ("chain", "check {} --property arrives --engine explicit --exact"),
    ("chain", "check {} --property arrives --engine explicit"),
    ("ridge", "starts {} --property safe"),
    ("grid", "shield {} --property safe"),
    ("ridge", "shield {} --property safe"),
    ("ridge", "shield {} --property safe --bound 0.9"),
    ("polynomial", "check {} --engine barrier"),
    ("polynomial", "check {} --engine barrier --time continuous"),
    ("polynomial", "shield {} --degree 2"),
    ("foreign", "certify {}"),
    ("", "invariant toy/below-thirteen --tighten 'output[0]<=' --between 10 14"),
    ("", "check toy/below-thirteen --engine bmc --solver native"),
    ("", "check toy/settles-within-4 --engine bmc --solver native"),
    ("", "check aurora/liveness-loss/aurora-48 --engine induction --solver native --abstract auto"),
    ("", "check aurora/safety-shallow-buffer/aurora-48 --engine bmc --solver native --abstract auto"),
    ("", "check line-transport/one-way --engine predicates --means cells"),
    ("", "check pensieve/leaves-best/pensieve-32x16 --engine induction --solver milp"),
    *(
        ("", f"check pendulum/within-{angle} --engine barrier --time continuous")
        for angle in ("90-degrees", "30-degrees", "90-degrees-disturbed")
    ),
    ("polynomial", "check {} --engine barrier --property 'recurs v0 < 0.2 and v0 > -0.2'"),
    ("polynomial", "check {} --engine barrier --property 'eventually v0 < 0.3 and v1 < 0.3'"),
    ("", "shield pendulum/within-90-degrees --time continuous"),
    ("", "shield control/pendulum-continuous --time continuous"),
    ("", "shield control/duffing"),
    ("", "shield control/satellite --set polynomial --degree 2"),
    ("", "shield control/quadcopter --set polynomial --degree 4"),
)
MAKERS: Mapping[str, Callable[[Path], object]] = {
    "ridge": lambda folder: late_models.write_ridge(folder, 6),
    "grid": lambda folder: late_models.write_grid(folder, 6),
    "chain": lambda folder: late_models.write_chain(folder, 60),
    "polynomial": lambda folder: late_models.write_polynomial(folder, 2),
    "foreign": lambda folder: late_models.write_foreign_barrier(folder, 2),
}


def prove_commands(_: int, __: Path | None) -> Iterator[Made]:
    with TemporaryDirectory() as name:
        for model, words in COMMANDS:
            for made in ask_command("commands", fill_words(words, model, Path(name), MAKERS), 4 * SECONDS):
                yield Made(made.source, f"{model}: {words}", made.text, None, made.files)


def prove_published(_: int, data: Path | None) -> Iterator[Made]:
    """Values of published models, and unsatisfiable queries beyond those of the mutants."""
    if data is None:
        return
    for row in conformance.rows(data / "jani" / "qvbs"):
        if row["states"] <= MOST_STATES:
            given = [w for k, v in row["params"].items() for w in ("--const", f"{k}={str(v).lower()}")]
            file = str(data / "jani" / "qvbs" / row["file"])
            words = ["check", file, "--property", row["property"], *given, "--engine", "explicit"]
            yield from _ask_briefly("published models", words, data)
    taken: dict[str, int] = {}
    for question in questions(data / "queries"):
        if question.network is not None and question.expected == "unsat":
            taken[question.family] = taken.get(question.family, 0) + 1
            if taken[question.family] % 9 == 1 and taken[question.family] < 60:
                words = ["vnnlib", str(question.network), str(question.specification), "--solver", "native"]
                yield from _ask_briefly("published queries", words, data)
    for name in ("acc", "airplane", "docking", "single_pendulum", "tora_relu", "unicycle"):
        file = data / "ainncs" / "problems" / f"{name}.toml"
        yield from _ask_briefly("published problems", ["check", str(file)], data)


def _ask_briefly(source: str, words: Sequence[str], data: Path) -> Iterator[Made]:
    """Rules do not say where the folder of data is."""
    for made in ask_command(source, words):
        rule = made.rule.replace(str(data), "SHARED")
        yield Made(made.source, rule, made.text, None, made.files)


SOURCES: Mapping[str, Callable[[int, Path | None], Iterator[Made]]] = {
    "examples": prove_examples,
    "random processes": prove_processes,
    "studies": prove_studies,
    "random problems": prove_random_problems,
    "commands": prove_commands,
    "published": prove_published,
}
