"""Random small closed loops against engine `reach` and the checker: is anything they say contradicted?

For each loop: runs are simulated (reference semantics in steps, an integrator of its own in continuous time,
disturbances at their ends, moving and constant); they have to stay in the sets that the engine computes, at
the periods and between them. Then the engine is asked questions that are nearly answered by these runs: what
it proves must not be contradicted by them, by engine `falsify`, or by the checker, and what the checker
accepts must not be either.

    python -m benchmarks.reach_campaign --first 0 --count 2000 [--seconds 0.3] [--falsify 0.2] [--out FILE]
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from time import process_time

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.reach_attack.loops import LoopMaker, RandomLoop
from benchmarks.reach_attack.questions import (
    RandomQuestion,
    make_question,
    random_watched_term,
    watch_in_steps,
    watch_in_time,
)
from benchmarks.reach_attack.runs import SteppedRun, TimedRuns, simulate_steps, simulate_time
from benchmarks.reach_attack.sets import find_escape_in_steps, find_escape_in_time, follow_sets
from surefoot.certify.reach.claim import build_reach_certificate
from surefoot.engines.falsify import Falsify
from surefoot.engines.reach import Reach
from surefoot.errors import SurefootError
from surefoot.problem.problem import Problem
from surefoot.reductions.absorbing_goal import end_at_goal
from surefoot.reductions.discretise import discretise
from surefoot.verdict.verdict import Proved, Violated
from surefoot.work.budget import Budget
from surefoot_checker.check import judge_certificate

PERIODS = {"time": 4, "exact": 5, "float64": 5}
QUESTIONS = 2  # about each loop


@dataclass
class Tally:
    counts: Counter[str] = field(default_factory=Counter)
    contradictions: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)

    def contradict(self, loop: RandomLoop, what: str) -> None:
        self.contradictions.append(f"{loop.problem.name} ({loop.kind}): {what}")
        print("CONTRADICTION", self.contradictions[-1], flush=True)


def attack_loop(seed: int, tally: Tally, seconds: float, share: float) -> None:
    maker = LoopMaker(seed)
    loop, draw = maker.make(), Random(seed + 1)
    periods = PERIODS[loop.kind]
    timed: TimedRuns | None = None
    stepped: list[SteppedRun] = []
    if loop.kind == "time":
        timed = simulate_time(loop, periods, draw)
    else:
        stepped = simulate_steps(loop, periods, draw)
    tally.counts[f"{loop.kind}: loops"] += 1
    sets = follow_sets(loop, periods, draw)
    tally.counts[f"{loop.kind}: periods of sets"] += len(sets.periods)
    if timed is not None:
        escape = find_escape_in_time(sets, timed, draw)
    else:
        escape = find_escape_in_steps(sets, stepped, draw)
    if escape is not None:
        tally.contradict(loop, escape)
    for _ in range(QUESTIONS):
        terms = [random_watched_term(loop, maker) for _ in range(2)]
        if timed is not None:
            watched = [watch_in_time(loop, timed, t) for t in terms]
        else:
            watched = [watch_in_steps(stepped, t, periods) for t in terms]
        question = make_question(watched[0], watched[1], timed is not None, draw)
        if question is not None:
            engine = Reach()
            if draw.random() < 0.8:  # options that are given are looked for no longer
                engine = Reach(draw.choice((2, 6, 10)), draw.randint(2, 5), draw.choice((1, 2, 3)))
            ask_question(loop, question, engine, tally, seconds, draw.random() < share)


def ask_question(
    loop: RandomLoop, question: RandomQuestion, engine: Reach, tally: Tally, seconds: float, hunt: bool
) -> None:
    problem = replace(loop.problem, property=question.asked)
    key = f"{loop.kind}: {question.shape}"
    tally.counts[f"{key}: asked"] += 1
    tally.counts[f"{key}: violated by a run"] += question.violated
    try:
        verdict = engine.check(problem, Budget(seconds))
    except SurefootError as why:
        tally.counts[f"{loop.kind}: not taken"] += 1
        tally.refusals.append(f"{problem.name}: {str(why)[:100]}")
        return
    if not isinstance(verdict, Proved):
        return
    tally.counts[f"{key}: proved"] += 1
    if question.violated:
        tally.contradict(loop, f"proved, and a run violates it: {question}")
    check_proof(problem, loop, question, verdict, tally)
    if hunt:
        hunt_for_run(problem, loop, question, tally)


def hunt_for_run(problem: Problem, loop: RandomLoop, question: RandomQuestion, tally: Tally) -> None:
    ready = end_at_goal(discretise(problem, continuous=True))
    if Falsify().objection(ready) is not None:
        tally.counts[f"{loop.kind}: not taken by falsify"] += 1
        return
    tally.counts[f"{loop.kind}: asked of falsify"] += 1
    if isinstance(Falsify().check(ready, Budget(1.0)), Violated):
        tally.contradict(loop, f"proved, and falsify finds a run: {question}")


def check_proof(
    problem: Problem, loop: RandomLoop, question: RandomQuestion, verdict: Proved, tally: Tally
) -> None:
    assert verdict.certificate is not None
    certificate = build_reach_certificate(problem, verdict.certificate.content, {})
    checked = judge_certificate(certificate.content)
    tally.counts[f"{loop.kind}: {'accepted' if checked.accepted else 'refused'} by the checker"] += 1
    if not checked.accepted:
        tally.refusals.append(f"{problem.name} {question.shape}: {checked.reason[:120]}")
    elif question.violated:
        tally.contradict(loop, f"accepted by the checker, and a run violates it: {question}")


def show_tally(tally: Tally) -> str:
    lines = [f"{name:45} {count}" for name, count in sorted(tally.counts.items())]
    proved = sum(n for name, n in tally.counts.items() if name.endswith(": proved"))
    asked = sum(n for name, n in tally.counts.items() if name.endswith(": asked"))
    lines.append(f"proved {proved} of {asked} questions, {len(tally.contradictions)} contradictions")
    reasons = Counter(reason.split(": ", 1)[-1] for reason in tally.refusals)
    lines += [f"refused {n} x {reason}" for reason, n in reasons.most_common(12)]
    return "\n".join([*lines, *tally.refusals[:60], *tally.contradictions])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=0.3)
    parser.add_argument(
        "--falsify", type=float, default=0.2, help="share of proofs that falsify is asked about"
    )
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    tally, begin = Tally(), process_time()
    for seed in range(given.first, given.first + given.count):
        try:
            attack_loop(seed, tally, given.seconds, given.falsify)
        except Exception as why:  # noqa: BLE001 - every crash is listed
            tally.contradictions.append(f"loop-{seed}: {type(why).__name__}: {why}")
            print("CRASH", tally.contradictions[-1], flush=True)
        if (seed - given.first) % 50 == 49:
            print(f"{seed - given.first + 1} loops, {process_time() - begin:.0f} s", flush=True)
            if given.out is not None:
                given.out.write_text(show_tally(tally) + "\n", encoding="utf-8")
    text = show_tally(tally)
    print(text)
    if given.out is not None:
        given.out.write_text(text + "\n", encoding="utf-8")
    return 1 if tally.contradictions else 0


if __name__ == "__main__":
    sys.exit(main())
