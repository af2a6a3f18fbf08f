"""Random problems of all kinds, refuted by brute force and by engine `falsify`.

The oracle (tests/laws/oracle: plain Python, written from the documentation, no code of surefoot's) looks at
every state of small systems; of the others it makes many runs of 30 steps, at random, from corners, with
extreme disturbances. Measured: whether `falsify` alone finds, in 5 s of processor time, what the oracle
refutes; whether the oracle agrees with every run that is reported; whether anything that is reported is
proved by another engine, or false by the oracle's exhaustive truth.

    python -m benchmarks.falsify_campaign --count 300 [--kind exact] [--proofs] [--out table.txt]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count as count_from
from pathlib import Path
from time import process_time

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.laws.oracle.ask import random_questions
from tests.laws.oracle.generate import Maker
from tests.laws.oracle.generate_jani import JaniMaker, jani_questions
from tests.laws.oracle.graph import Graph
from tests.laws.oracle.jani_text import reference, write_jani
from tests.laws.oracle.judge import DOCUMENTED, Answer, look_at, run_check
from tests.laws.oracle.meaning import Meaning
from tests.laws.oracle.model import Model
from tests.laws.oracle.plant_runs import ask_property, object_to_trace, refute
from tests.laws.oracle.plant_text import property_text, write_plant
from tests.laws.oracle.plants import KINDS, Plant, PlantMaker
from tests.laws.oracle.questions import AboutRuns
from tests.laws.oracle.runs import RunTruth
from tests.laws.oracle.toml_text import write_problem
from tests.laws.oracle.traces import object_to

FINITE = ("finite", "automata", "windows", "jani", "no-policy")
SECONDS = 5.0  # of processor time in which what the oracle refutes has to be found
WALL = {True: 40.0, False: 2.0}  # seconds by the clock, on a busy machine, if it refutes and if not
PROVERS = {True: ("explicit", "induction"), False: ("induction", "bmc")}  # of finite systems; of others


@dataclass(frozen=True)
class Case:
    """A problem in a file, and what the oracle knows: it is violated, holds, or neither is known."""

    kind: str
    name: str
    path: Path
    property: str
    text: str
    truth: bool | None
    extra: tuple[str, ...] = ()
    plant: Plant | None = None
    model: tuple[Model, Graph, AboutRuns] | None = None

    def object_to(self, answer: Answer) -> str:
        trace = answer.verdict["trace"]
        if self.plant is not None:
            return object_to_trace(self.plant, trace)
        assert self.model is not None
        model, graph, question = self.model
        return object_to(Meaning(model), graph, question, trace)


@dataclass
class Row:
    problems: int = 0
    refuted: int = 0
    found: int = 0
    also: int = 0  # found although the oracle did not refute it
    proved: int = 0
    seconds: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)


def make_plant_case(kind: str, seed: int, folder: Path, runs: int) -> Case:
    plant = ask_property(PlantMaker(kind, seed).plant(), seed)
    found = refute(plant, seed, runs)
    path = write_plant(plant, folder)
    return Case(kind, plant.name, path, "q0", property_text(plant), True if found else None, plant=plant)


def is_of_kind(kind: str, model: Model) -> bool:
    features = model.features
    match kind:
        case "automata":
            return "components" in features
        case "windows":
            return "window" in features or "array" in features
        case "no-policy":
            return model.policy is None
        case _:
            return "components" not in features and model.policy is not None


def make_finite_case(kind: str, seed: int, folder: Path) -> Case | None:
    """None: not of this kind, too large, or nothing was asked about runs that the documentation decides."""
    if kind == "jani":
        model = JaniMaker(seed).model()
        questions = jani_questions(seed, model, 3)
    else:
        model = Maker(seed).model()
        if not is_of_kind(kind, model):
            return None
        questions = random_questions(seed, model, 3)
    asked = [q for q in questions if isinstance(q, AboutRuns)]
    looked = look_at(model, asked, most=800) if asked else None
    if looked is None:
        return None
    for place, (question, truth) in enumerate(zip(asked, looked.truths, strict=True)):
        if truth is None or not isinstance(truth.plain, RunTruth) or not looked.graph.starts:
            continue
        assert isinstance(question, AboutRuns)
        plain = truth.plain
        known = True if plain.violated else None if plain.trouble else False
        if kind == "jani":
            path = write_jani(model, asked, folder)
            name = reference(question, place)
            extra = ("--policy", str(path.parent / "policy.onnx")) if model.policy else ()
        else:
            path, name, extra = write_problem(model, asked, folder), f"q{place}", ()
        return Case(
            kind,
            f"{kind}-{seed}",
            path,
            name,
            question.text,
            known,
            extra,
            model=(model, looked.graph, question),
        )
    return None


def make_cases(kind: str, first: int, root: Path, runs: int) -> Iterator[Case]:
    for seed in count_from(first):
        folder = root / f"{kind}-{seed}"
        if kind in FINITE:
            case = make_finite_case(kind, seed, folder)
        else:
            case = make_plant_case(kind, seed, folder, runs)
        if case is not None:
            yield case


def run_engine(case: Case, engine: str, seconds: float) -> tuple[Answer, float]:
    began = process_time()
    options = ["--engine", engine, "--timeout", str(seconds), "--seed", "1", *case.extra]
    (answer,) = run_check(case.path, [case.property], options)
    return answer, process_time() - began


def judge_case(case: Case, row: Row, *, proofs: bool) -> bool:
    """False: the documentation says that this is not answered."""
    limit = WALL[case.truth is True]
    answer, took = run_engine(case, "falsify", limit)
    if answer.result is None and any(words in answer.message for words in DOCUMENTED):
        return False
    row.problems += 1
    row.refuted += case.truth is True
    about = f"{case.name}: {case.text}"
    kind = "error" if answer.result is None else answer.verdict["kind"]
    if kind == "violated":
        row.seconds.append(took)
        row.found += case.truth is True and took <= SECONDS
        row.also += case.truth is None
        if case.truth is False:
            row.wrong.append(f"{about}: violated, but it holds by the oracle")
        if objection := case.object_to(answer):
            row.wrong.append(f"{about}: the trace is wrong: {objection}")
    if case.truth is True and (kind != "violated" or took > SECONDS):
        said = answer.message if answer.result is None else answer.verdict.get("detail", kind)
        row.missed.append(f"{about}: {took:.1f} s, {said}")
    if not proofs:
        return True
    for engine in PROVERS[case.kind in FINITE]:
        other, _ = run_engine(case, engine, 1.0)
        if other.result is None or other.verdict["kind"] not in ("proved", "holds"):
            continue
        if other.verdict["kind"] == "proved" and other.result["certified"]:
            row.proved += 1
            if kind == "violated" or case.truth is True:
                row.wrong.append(f"{about}: proved by {engine}, but {kind} and by the oracle {case.truth}")
            break
    return True


def show_table(rows: dict[str, Row]) -> Iterator[str]:
    heads = (("problems", 9), ("refuted", 9), ("found", 7), ("more", 6), ("proved", 8), ("median s", 10))
    yield f"{'kind':<14}" + "".join(f"{word:>{width}}" for word, width in heads) + "  wrong"
    every = Row()
    for kind, row in rows.items():
        middle = sorted(row.seconds)[len(row.seconds) // 2] if row.seconds else 0.0
        yield (
            f"{kind:<14}{row.problems:>9}{row.refuted:>9}{row.found:>7}{row.also:>6}{row.proved:>8}"
            f"{middle:>10.2f}{len(row.wrong):>7}"
        )
        every.problems += row.problems
        every.refuted += row.refuted
        every.found += row.found
        every.also += row.also
        every.proved += row.proved
        every.wrong += row.wrong
        every.missed += row.missed
    yield f"{'all':<14}{every.problems:>9}{every.refuted:>9}{every.found:>7}{every.also:>6}{every.proved:>8}"
    yield f"found {100 * every.found / max(every.refuted, 1):.1f} % of what the oracle refutes"
    yield from (f"missed {line}" for line in every.missed)
    yield from (f"WRONG {line}" for line in every.wrong)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--runs", type=int, default=900, help="of the oracle, for each problem")
    parser.add_argument("--kind", action="append")
    parser.add_argument("--proofs", action="store_true", help="also ask the engines that prove")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    kinds = given.kind or [*FINITE, *KINDS]
    rows = {kind: Row() for kind in kinds}
    with tempfile.TemporaryDirectory() as temporary:
        for kind in kinds:
            wanted = -(-given.count // len(kinds))
            for case in make_cases(kind, given.first, given.keep or Path(temporary), given.runs):
                if rows[kind].problems == wanted:
                    break
                before = len(rows[kind].missed), len(rows[kind].wrong)
                judge_case(case, rows[kind], proofs=given.proofs)
                for line in (*rows[kind].missed[before[0] :], *rows[kind].wrong[before[1] :]):
                    print(line, file=sys.stderr, flush=True)
            if given.out:
                given.out.write_text("\n".join(show_table(rows)) + "\n", encoding="utf-8")
    print("\n".join(show_table(rows)))
    return 1 if any(row.wrong for row in rows.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
