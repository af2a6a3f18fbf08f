"""Benchmark rows: commands of the program, and questions to its solvers and engines.

A row is a name and a piece of work that returns what must not change. Commands are run as users do; models
are written by `late_models`, shipped with studies, or files of the folder of shared data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from random import Random
from statistics import median

from tests.laws.automata_networks import automata_network
from tests.laws.finite_systems import problems

from benchmarks import builders, late_models, ours, predicates, random_processes, whirl
from benchmarks.frozen.commands import count_proof, digest, facts_of, fill_words, run_command
from benchmarks.frozen.timing import Facts, Timed, Work, run_once, time_work
from benchmarks.questions import query, questions
from surefoot import Bmc, Budget, Induction, SurefootError, verify
from surefoot.engines.explicit import Explicit
from surefoot.engines.recurrence import Recurrence
from surefoot.query.query import Query
from surefoot.solvers import SOLVERS
from surefoot_studies.racetrack.abstraction_instances import ABSTRACTIONS
from surefoot_studies.racetrack.abstraction_runs import DEFAULT, build_instance

SECONDS = 600.0  # for one answer, of wall time: also on a busy machine none is cut off


@dataclass(frozen=True, slots=True)
class Row:
    """`prepare` makes what the work is about, before it is measured."""

    name: str
    work: Work
    prepare: Callable[[], object] | None = None


MAKERS: Mapping[str, Callable[[Path], object]] = {
    **{f"grid-{n}": partial(late_models.write_grid, side=n) for n in (6, 18, 40)},
    **{f"ridge-{n}": partial(late_models.write_ridge, side=n) for n in (40, 80)},
    **{f"chain-{n}": partial(late_models.write_chain, length=n) for n in (2000, 20_000)},
    **{f"automata-{n}": partial(late_models.write_automata, count=n, size=3) for n in (4, 7)},
    **{f"polynomial-{n}": partial(late_models.write_polynomial, size=n) for n in (2, 3)},
    **{f"planning-{n}": partial(late_models.write_planning, edges=n) for n in (21,)},
}
BY_NATIVE = (  # study, problem, engine
    "check aurora/liveness-excellent/aurora-48 --engine bmc --solver native",
    "check aurora/liveness-loss/aurora-48 --engine induction --solver native",
    "check aurora/liveness-excellent-near/aurora-32x16 --engine induction --solver native",
    "check aurora/safety-shallow-buffer/aurora-32x16-tanh --engine bmc --solver native",
    "check aurora/safety-excellent-near/aurora-48 --engine bmc --solver native",
    "check aurora/liveness-loss/aurora-48 --engine induction --solver native --abstract auto",
    "check deeprm/free-cluster/deeprm-20 --engine bmc --solver native",
    "check deeprm/prefers-second-slot-small/deeprm-20 --engine bmc --solver native",
    "check deeprm/keeps-placing-cpu-jobs/deeprm-20 --engine induction --solver native",
    "check pensieve/reaches-best/pensieve-32x16 --engine induction --solver native",
    "check pensieve/leaves-best-from-4-s/pensieve-32x16 --engine bmc --solver native",
    "check pensieve/poor-conditions-equal/pensieve-32x16 --engine bmc --solver native",
    "check toy/below-ten-from-upper-right --engine bmc --solver milp",
    "check toy/below-thirteen --engine bmc --solver z3",
    "check toy/settles-within-4 --engine bmc --solver native",
    "check aurora/safety-excellent-near/aurora-48 --engine bmc --solver milp",
    "invariant toy/below-thirteen --tighten 'output[0]<=' --between 10 14",
)
BY_ABSTRACTION = (
    "check blocksworld/room-3 --engine predicates",
    "check npuzzle/jams --engine predicates",
    "check line-transport/one-way --engine predicates",
    "check line-transport/one-way-early --engine predicates --means cells",
    "check racetrack/end-cell/16 --engine predicates",
)
BY_SETS = (
    "check pendulum/within-90-degrees --engine barrier",
    "check pendulum/within-30-degrees --engine barrier",
    "check pendulum/within-90-degrees-disturbed --engine barrier",
    "check pendulum/within-90-degrees --engine barrier --time continuous",
    *(f"shield pendulum/{name}" for name in ("within-23-degrees", "within-90-degrees-weak")),
    *(f"shield control/{name}" for name in ("satellite", "biology", "quadcopter")),
    *(f"shield control/{name}" for name in ("cartpole", "self-driving")),
    *(f"shield control/{name}" for name in ("four-car-platoon", "oscillator", "self-driving-obstacle")),
    "shield control/pendulum-continuous --time continuous",
    "shield control/biology --runs 200 --steps 1000",
)
BY_STATES = (
    "check racetrack/goal-probability --engine explicit",
    "check racetrack/goal/small-best --engine explicit",
    "check racetrack/crash/small --engine explicit",
    "check racetrack/goal/ring --engine explicit",
    "check racetrack/decisions-to-goal --engine explicit --exact",
    "check racetrack/never-crashes --engine explicit",
)
BY_RUNS = (
    "check racetrack/goal/small --engine statistical --eps 0.01",
    "check racetrack/goal-probability --engine statistical --eps 0.002",
    "check racetrack/goal-probability --engine statistical --eps 0.01 --method okamoto",
)
OF_MODELS = (
    ("grid-18", "check {} --property chance --engine explicit"),
    ("grid-18", "check {} --property effort --engine explicit"),
    ("grid-40", "check {} --property safe --engine explicit"),
    ("grid-6", "check {} --property chance --engine explicit --exact"),
    ("grid-6", "check {} --property safe --engine predicates"),
    ("grid-6", "check {} --property safe"),
    ("grid-6", "shield {} --property safe"),
    ("ridge-40", "check {} --property chance --engine explicit"),
    ("ridge-40", "check {} --property chance --engine explicit --tier interpreter"),
    ("ridge-40", "heatmap {} --property chance --x x --y y"),
    ("ridge-40", "optimum {} --property chance"),
    ("ridge-40", "starts {} --property safe"),
    ("ridge-40", "shield {} --property safe --bound 0.9"),
    ("ridge-80", "check {} --property chance --engine explicit"),
    ("ridge-80", "check {} --property safe --engine explicit"),
    ("ridge-40", "heatmap {} --property chance --x x --y y --engine statistical --eps 0.1"),
    ("chain-2000", "check {} --property arrives --engine explicit --exact"),
    ("chain-20000", "check {} --property safe --engine explicit"),
    ("chain-20000", "check {} --property soon --engine explicit"),
    ("automata-7", "check {} --property chance --engine explicit"),
    ("automata-4", "check {} --property safe --engine predicates"),
    (
        "ridge-40",
        "check {} --property 'E=? [ (x) for 60 steps ]' --engine statistical --least 0 --most 2400 --eps 200",
    ),
    ("polynomial-2", "check {} --engine barrier"),
    ("polynomial-2", "check {} --engine barrier --property 'recurs v0 < 0.2 and v0 > -0.2'"),
    ("polynomial-3", "shield {} --degree 2"),
    ("planning-21", "check {} --property safe --engine predicates"),
)
OF_FILES = (  # in the folder of shared data
    *(
        f"vnnlib SHARED/queries/acasxu/onnx/ACASXU_run2a_{net}_batch_2000.onnx.gz "
        f"SHARED/queries/acasxu/vnnlib/{asked}.vnnlib.gz --solver native"
        for net, asked in (
            ("1_1", "prop_3"),
            ("5_7", "prop_3"),
            ("4_9", "prop_4"),
        )
    ),
    "check SHARED/jani/racetrack/racetrack_barto_sml.jani --property goalProbability --engine statistical "
    "--uniform --eps 0.005",
)
SOLVED = (  # of `benchmarks.solve`
    *("aurora 48:1:1.0", "aurora 48:1:-0.2", "aurora 48:8:0.5", "aurora 48:4:0.25"),
    *(
        "aurora 32x16:2:1.0",
        "aurora 32x16:6:0.5",
        "argmax 16x16:3x2:0",
        "argmax 32x32:6x4:1",
        "argmax 64x64:6x4:1",
    ),
    *(
        "acasxu 5_7 prop_3",
        "acasxu 1_1 prop_3",
        "acasxu 1_1 prop_5",
        "acasxu 1_1 prop_6",
        "acasxu 4_2 prop_2",
    ),
    *(
        "acasxu 4_9 prop_1",
        "planted_needles planted_012_sat_n2_r6",
        "planted_needles planted_035_unsat_n8_r8",
    ),
    *("sat_relu sat_v10_c26", "sat_relu unsat_v24_c66", "sat_relu unsat_v40_c142"),
    *("cersyve point_mass_pretrain_con prop_point_mass", "cersyve lane_keep_finetune_con prop_lane_keep"),
)
STEPPED = (  # of `benchmarks.whirl`
    *(f"aurora A2 aurora-48 k={k}" for k in (1, 2, 4, 8)),
    *(
        "aurora A2 aurora-32x16 k=2",
        "aurora A1 aurora-32x16 k=1",
        "aurora A3 aurora-48",
        "deeprm deeprm-20 D2",
    ),
)
ABSTRACTED = ((16, 50), (16, 145), (64, 50))  # widths and predicates of racetrack abstractions
BUILT = {  # files of the folder of shared data, and constants
    "racetrack/racetrack_barto_sml.jani": {},
    "qvbs/consensus/consensus.2.jani": {"K": "8"},
}


def find_rows(shared: Path | None) -> Iterator[Row]:
    """All rows; without the folder of shared data those that do without it."""
    for words in (*BY_NATIVE, *BY_ABSTRACTION, *BY_SETS, *BY_STATES, *BY_RUNS):
        yield Row(words, partial(ask_command, words, ""))
    for model, words in OF_MODELS:
        yield Row(words.replace("{}", model), partial(ask_command, words, model))
    for words in OF_FILES if shared else ():
        yield Row(words, partial(ask_command, words.replace("SHARED", str(shared)), ""))
    for question in questions(shared / "queries" if shared else None):
        if question.title in SOLVED:
            yield ask_prepared(f"solve: {question.title}", partial(query, question))
    for step in whirl.steps():
        if f"{step.family} {step.name}" in STEPPED:
            yield ask_prepared(f"whirl: {step.family} {step.name}", step.query)
    for width, count in ABSTRACTED:
        yield Row(f"abstraction: width {width}, {count} predicates", partial(abstract_race, width, count))
    for file, constants in BUILT.items() if shared else ():
        assert shared is not None
        path = str(shared / "jani" / file)
        if Path(path).is_file():
            yield Row(
                f"states: {file} {constants or ''}".strip(), lambda _, f=path, c=constants: count_states(f, c)
            )  # type: ignore[misc]
    yield Row("random processes: 60", decide_processes)
    yield Row("random finite systems: 12", decide_systems)
    yield Row("random automata: 20", decide_automata)


def ask_command(words: str, model: str, folder: Path) -> Facts:
    return facts_of(
        *run_command([*fill_words(words, model, folder, MAKERS), "--timeout", f"{SECONDS:g}"], folder)
    )


def ask_prepared(name: str, make: Callable[[], Query]) -> Row:
    """A question to the native solver; making the question is not measured."""
    made = cache(make)
    return Row(name, lambda _: ask_solver(made()), made)


def ask_solver(asked: Query) -> Facts:
    found = ours.ask_query(asked, SECONDS)
    nodes = count_proof(found.get("certificate"))
    return {"answer": found["answer"], "arithmetic": found.get("arithmetic", ""), **nodes}


def abstract_race(width: int, count: int, _: Path) -> Facts:
    """One instance of the abstraction study, built as a whole."""
    known = [i for i in ABSTRACTIONS["pa-1"].instances if (i.width, i.predicates) == (width, count)]
    run, _graph = build_instance(known[0], DEFAULT, SECONDS, lambda _: None)
    sizes = {"states": run.states, "transitions": run.transitions, "unsafe": run.unsafe}
    queries = {test.kind: test.number for test in run.tests}
    return {"finished": run.finished, "exact": run.exact, **sizes, "queries": queries}


def count_states(file: str, constants: dict[str, str]) -> Facts:
    found = builders.surefoot(file, constants)
    return {key: found[key] for key in ("states", "choices", "tier")}


def decide_processes(_: Path) -> Facts:
    """Exact values of random decision processes."""
    values = []
    for seed in range(60):
        for asked, _longer, _true in random_processes.questions(seed):
            verdict = Explicit(tier="interpreter", exact=True).check(asked, Budget(SECONDS))
            values.append([type(verdict).__name__, str(getattr(verdict, "low", None))])
    return {"answers": len(values), "values": digest(values)}


def decide_systems(_: Path) -> Facts:
    """Random finite systems by several engines."""
    solver, words = SOLVERS["milp"](), {}
    engines = (Bmc(solver, depth=4), Induction(solver, depth=3), Recurrence(solver, depth=3), Explicit())
    for seed in range(12):
        for kind, problem in problems(seed).items():
            for engine in engines:
                if engine.objection(problem) is None:
                    try:
                        said: object = verify(problem, engine, Budget(SECONDS)).verdict
                    except SurefootError as error:
                        said = error
                    words[f"{seed} {kind} {engine.name}"] = type(said).__name__
    return {"answers": len(words), "verdicts": digest(words)}


def decide_automata(_: Path) -> Facts:
    """Random automata networks by predicate abstraction, in its four ways."""
    words = {}
    for seed in range(20):
        problem = automata_network(seed)
        for name, engine in predicates.engines(seed, problem, False).items():
            if engine.objection(problem) is None:
                said = engine.check(problem, Budget(SECONDS))
                states = getattr(getattr(said, "artifact", None), "states", ())
                words[f"{seed} {name}"] = [type(said).__name__, len(states)]
    return {"answers": len(words), "verdicts": digest(words)}


def calibrate(_: Path) -> Facts:
    """Work that no tree changes, to see how fast the machine is: whole numbers, dictionaries, floats."""
    draw, total, seen = Random(0), 1, {}
    for number in range(160_000):
        total = (total * 6364136223846793005 + number) % (1 << 200)
        seen[total % 50_021] = number
    values = sorted(draw.random() for _ in range(200_000))
    return {"total": str(total), "seen": len(seen), "least": values[0]}


def measure_rows(rows: Sequence[Row], folder: Path) -> Iterator[tuple[Row, Timed]]:
    """What every row says and takes, as soon as it is known."""
    folder.mkdir(parents=True, exist_ok=True)
    for row in rows:
        if row.prepare is not None:
            row.prepare()
        timed = time_work(row.work, folder)
        varies = f"; varies: {', '.join(timed.varies)}" if timed.varies else ""
        print(f"{timed.seconds:8.2f} s  {row.name}: {timed.facts}{varies}"[:240], flush=True)
        if "failed" in timed.facts or timed.facts.get("exit") in (2, 4):
            print(f"NO ANSWER: {row.name}", flush=True)
        yield row, timed


def measure_speed(folder: Path) -> float:
    """Processor seconds of work that no tree changes."""
    folder.mkdir(parents=True, exist_ok=True)
    return median(run_once(calibrate, folder).seconds for _ in range(5))
