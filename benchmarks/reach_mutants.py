"""Mutated certificates about closed loops against the checker: is anything false ever accepted?

Certificates of random closed loops that the checker accepts are changed in one to three places: starts,
horizon, bad set, weights, dynamics, limits, disturbances, period, policy, and in the tree its cells, regions,
returns, forks and options. Every claim is simulated: one that a run violates must not be accepted.

    python -m benchmarks.reach_mutants --count 1000 [--bases 60] [--seed 0] [--out table.txt]
"""

from __future__ import annotations

import argparse
import copy
import json
import sys
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from random import Random
from struct import pack, unpack
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.checker.reach.simulator import evaluate

from benchmarks.reach_attack.json_runs import NoRun, find_violation, simulate_claim
from benchmarks.reach_attack.loops import LoopMaker
from benchmarks.reach_attack.questions import (
    make_question,
    random_watched_term,
    watch_in_steps,
    watch_in_time,
)
from benchmarks.reach_attack.runs import simulate_steps, simulate_time
from surefoot.certify.reach.claim import build_reach_certificate
from surefoot.engines.reach import Reach
from surefoot.errors import SurefootError
from surefoot.verdict.verdict import Proved
from surefoot.work.budget import Budget
from surefoot_checker.check import judge_certificate
from surefoot_checker.kernel.strict_json import BadCertificate

Json = Any
Mutation = Callable[[Json, Random], None]


class NotHere(Exception):
    """There is nothing to change."""


def make_bases(count: int, first: int) -> Iterator[tuple[str, Json]]:
    """Accepted certificates, as JSON."""
    seed = first
    while count:
        maker = LoopMaker(seed)
        loop, draw = maker.make(), Random(seed)
        seed += 1
        continuous = loop.kind == "time"
        terms = [random_watched_term(loop, maker) for _ in range(2)]
        if continuous:
            timed = simulate_time(loop, 3, draw, 8)
            watched = [watch_in_time(loop, timed, t) for t in terms]
        else:
            stepped = simulate_steps(loop, 4, draw, 8)
            watched = [watch_in_steps(stepped, t, 4) for t in terms]
        question = make_question(watched[0], watched[1], continuous, draw)
        if question is None or question.violated:
            continue
        problem = replace(loop.problem, property=question.asked)
        try:
            verdict = Reach(draw.choice((2, 6)), draw.randint(2, 4), draw.choice((1, 2))).check(
                problem, Budget(0.4)
            )
        except SurefootError:
            continue
        if not isinstance(verdict, Proved) or verdict.certificate is None:
            continue
        content = build_reach_certificate(problem, verdict.certificate.content, {}).content
        text = json.dumps(content)
        if len(text) < 60_000 and judge_certificate(json.loads(text)).accepted:
            count -= 1
            yield f"{problem.name} {loop.kind} {question.shape}", json.loads(text)


def places(data: Json, wanted: Callable[[Json], bool]) -> list[tuple[Any, Any]]:
    """Where (container, key) something is that is wanted."""
    found: list[tuple[Any, Any]] = []
    left = [data]
    while left:
        here = left.pop()
        pairs = here.items() if isinstance(here, dict) else enumerate(here)
        for key, value in pairs:
            if wanted(value):
                found.append((here, key))
            if isinstance(value, dict | list):
                left.append(value)
    return found


def pick(draw: Random, several: list[Any]) -> Any:
    if not several:
        raise NotHere
    return draw.choice(several)


def is_number(value: Json) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | str):
        return False
    try:
        Fraction(value)
    except (ValueError, ZeroDivisionError):
        return False
    return True


def moved(value: Json, draw: Random) -> Json:
    """A number near or far from another."""
    old = Fraction(value)
    by = draw.choice(
        (Fraction(1, 100), Fraction(1, 10), Fraction(1), Fraction(-1), Fraction(-1, 10), Fraction(3))
    )
    new = old + by * (abs(old) if draw.random() < 0.5 and old else 1)
    return int(new) if isinstance(value, int) else str(new)


def change_starts(data: Json, draw: Random) -> None:
    problem = data["claim"]["problem"]
    holder, key = pick(draw, places({"initial": problem["initial"]}, is_number))
    old = holder[key]
    holder[key] = moved(old, draw)
    if draw.random() < 0.6:  # the regions with it
        for region in data["reach"]["regions"]:
            for ends in region["box"].values():
                if isinstance(ends, list):
                    for side in range(2):
                        if Fraction(ends[side]) == Fraction(old):
                            ends[side] = holder[key]


def change_condition(data: Json, draw: Random) -> None:
    holder, key = pick(
        draw, places({"condition": data["claim"]["problem"]["property"]["condition"]}, is_number)
    )
    holder[key] = moved(holder[key], draw)


def move_bad_to_a_run(data: Json, draw: Random) -> None:
    """A false claim: a simulated run is beyond the limit by a little."""
    problem = data["claim"]["problem"]
    asked = problem["property"]
    condition = asked["condition"]
    if asked["kind"] != "never" or condition[0] != "<" or not is_number(condition[1]):
        raise NotHere
    try:
        track, _ = simulate_claim(problem, draw, {})
        continuous = "time" in problem
        since = Fraction(asked.get("since", 0) if continuous else asked.get("after", 0))
        until = asked.get("until") if continuous else asked.get("steps")
        states = [s for t, s in track if since <= t and (until is None or t <= Fraction(until))]
        values = [float(evaluate(condition[2], state)) for state in states]
    except (NoRun, BadCertificate, ArithmeticError, ValueError, KeyError, TypeError, IndexError):
        raise NotHere from None
    if not values:
        raise NotHere
    by = draw.choice((1e-4, 1e-3, 0.05)) * (1 + abs(max(values)))
    condition[1] = str(Fraction(round((max(values) - by) * 10**9), 10**9))


def change_horizon(data: Json, draw: Random) -> None:
    asked = data["claim"]["problem"]["property"]
    key = pick(draw, [k for k in ("until", "since", "steps", "after") if k in asked])
    asked[key] = (
        draw.choice((str(Fraction(asked[key]) * 2), 0)) if key in ("until", "since") else asked[key] + 3
    )
    if draw.random() < 0.6:
        for holder, place in places(data["reach"], lambda v: isinstance(v, list) and v[:1] == ["run"]):
            holder[place][1] *= 2


def drop_horizon(data: Json, draw: Random) -> None:
    asked = data["claim"]["problem"]["property"]
    asked.pop(pick(draw, [k for k in ("until", "steps", "since", "after", "before") if k in asked]))
    if draw.random() < 0.5:
        change_ends(data, draw)


def change_kind(data: Json, draw: Random) -> None:
    asked = data["claim"]["problem"]["property"]
    if draw.random() < 0.5:
        asked["condition"] = ["not", asked["condition"]]
    else:
        asked["kind"] = draw.choice([k for k in ("never", "within", "eventually") if k != asked["kind"]])


def change_weights(data: Json, draw: Random) -> None:
    def is_floats(value: Json) -> bool:
        return (
            isinstance(value, str)
            and len(value) % 4 == 0
            and len(value) >= 8
            and value.endswith(("=", "A", "w", "g", "Q"))
        )

    nodes = places(data["claim"]["problem"]["policy"], lambda v: isinstance(v, list) and v[:1] == ["affine"])
    holder, key = pick(draw, nodes)
    place = draw.choice((4, 5))
    if not is_floats(holder[key][place]) and place == 5:
        place = 4
    raw = b64decode(holder[key][place])
    values = list(unpack(f"<{len(raw) // 4}f", raw))
    which = draw.randrange(len(values))
    values[which] = draw.choice(
        (values[which] * 2, -values[which], values[which] + 0.25, 0.0, values[which] * 1.01)
    )
    holder[key][place] = b64encode(pack(f"<{len(values)}f", *values)).decode()


def change_plant(data: Json, draw: Random) -> None:
    problem = data["claim"]["problem"]
    part = problem["time"]["derivatives"] if "time" in problem else problem["components"][0]["edges"]
    terms = places(
        {"all": part}, lambda v: isinstance(v, list) and len(v) == 3 and v[:1] in (["+"], ["-"], ["*"])
    )
    numbers = places({"all": part}, is_number)
    if terms and draw.random() < 0.5:
        holder, key = draw.choice(terms)
        holder[key][0] = draw.choice([w for w in ("+", "-", "*", "max") if w != holder[key][0]])
    else:
        holder, key = pick(draw, numbers)
        holder[key] = moved(holder[key], draw)


def change_functions(data: Json, draw: Random) -> None:
    problem = data["claim"]["problem"]
    names = ["sin", "cos", "tanh", "atan", "exp", "abs"]
    holder, key = pick(
        draw, places(problem, lambda v: isinstance(v, list) and v[:1] and v[0] in names and len(v) == 2)
    )
    holder[key][0] = draw.choice([n for n in names if n != holder[key][0]])


def change_limits(data: Json, draw: Random) -> None:
    problem = data["claim"]["problem"]
    control = pick(draw, problem["controls"])
    place = draw.choice((1, 2, 3))
    if place == 3:
        control[3] = not control[3]
    elif control[place] is None:
        control[place] = draw.choice(("-1/2", "1/10"))
    else:
        control[place] = draw.choice((None, moved(control[place], draw)))


def change_chosen(data: Json, draw: Random) -> None:
    edges = data["claim"]["problem"]["components"][0]["edges"]
    edge = draw.choice(edges)
    if edge["chosen"] and draw.random() < 0.8:
        kind = draw.choice(edge["chosen"])[1]
        if kind[0] == "boolean":
            raise NotHere
        place = draw.choice((1, 2))
        kind[place] = moved(kind[place], draw)
    else:
        edge["assuming"] = True


def change_guards(data: Json, draw: Random) -> None:
    edges = data["claim"]["problem"]["components"][0]["edges"]
    edge = draw.choice(edges)
    edge["guard"] = draw.choice((True, ["not", edge["guard"]], draw.choice(edges)["guard"]))


def drop_edge(data: Json, draw: Random) -> None:
    edges = data["claim"]["problem"]["components"][0]["edges"]
    if len(edges) < 2:
        raise NotHere
    if draw.random() < 0.5:
        edges.append(copy.deepcopy(draw.choice(edges)))
    else:
        edges.pop(draw.randrange(len(edges)))


def change_period(data: Json, draw: Random) -> None:
    timed = data["claim"]["problem"].get("time")
    if timed is None:
        raise NotHere
    timed["period"] = str(Fraction(timed["period"]) * draw.choice((2, Fraction(1, 2), Fraction(5, 4))))


def change_policy(data: Json, draw: Random) -> None:
    policy = data["claim"]["problem"]["policy"]
    match draw.randrange(4):
        case 0:
            draw.shuffle(policy["actions"])
        case 1:
            draw.shuffle(policy["observe"])
        case 2:
            if policy["choose"] == "value":
                raise NotHere
            policy["choose"] = "argmax" if policy["choose"] != "argmax" else "argmax-applicable"
        case _:
            rule = pick(draw, policy["rules"])
            rule["when"] = draw.choice((True, ["not", rule["when"]]))


def change_rounding(data: Json, draw: Random) -> None:
    data["claim"]["plant"] = "float64" if data["claim"]["plant"] == "exact" else "exact"


def change_options(data: Json, draw: Random) -> None:
    walk = data["reach"]
    key = draw.choice(("pieces", "taylor", "order", "bits"))
    walk[key] = {"pieces": (1, 2, 3), "taylor": (1, 2, 6), "order": (1, 3, 20), "bits": (20, 30, 44, 90)}[
        key
    ][draw.randrange(3)]


def drop_region(data: Json, draw: Random) -> None:
    regions = data["reach"]["regions"]
    if len(regions) < 2 or draw.random() < 0.3:
        draw.choice(regions)["start"] = False
    else:
        regions.pop(draw.randrange(len(regions)))


def change_box(data: Json, draw: Random) -> None:
    box = draw.choice(data["reach"]["regions"])["box"]
    name = draw.choice(list(box))
    if isinstance(box[name], list):
        side = draw.randrange(2)
        box[name][side] = moved(box[name][side], draw)
    elif isinstance(box[name], bool):
        box[name] = not box[name]
    else:
        box[name] += 1


def change_ends(data: Json, draw: Random) -> None:
    words = ("done", "return", "outside")
    holder, key = pick(draw, places(data["reach"], lambda v: isinstance(v, list) and v[:1] and v[0] in words))
    count = len(data["reach"]["regions"])
    holder[key] = draw.choice((["done"], ["return", draw.randrange(count)], ["outside"]))


def change_node(data: Json, draw: Random) -> None:
    words = ("run", "split", "fork", "cut")
    holder, key = pick(draw, places(data["reach"], lambda v: isinstance(v, list) and v[:1] and v[0] in words))
    node = holder[key]
    match draw.randrange(5):
        case 0:
            holder[key] = draw.choice((["done"], ["return", 0], ["outside"]))
        case 1 if node[0] == "run":
            node[1] = max(0, node[1] + draw.choice((-1, 1, 5)))
        case 2 if node[0] in ("split", "cut"):
            node[2], node[3] = node[3], node[2]
        case 3 if node[0] == "run":
            holder[key] = ["cut", draw.randrange(3), node, node]
        case _:
            holder[key] = ["split", 0, node, draw.choice((node, ["done"], ["outside"]))]


def change_fork(data: Json, draw: Random) -> None:
    holder, key = pick(draw, places(data["reach"], lambda v: isinstance(v, list) and v[:1] == ["fork"]))
    ways = holder[key][1]
    name = draw.choice(list(ways))
    node = ways.pop(name)
    if draw.random() < 0.4:
        other = draw.choice(list(ways) or ["-/0/0/"])
        ways[name], ways[other] = ways.get(other, ["done"]), node
    elif draw.random() < 0.5:
        ways[name.replace("0", "1", 1)] = node


CLAIM: tuple[Mutation, ...] = (
    change_starts,
    change_condition,
    move_bad_to_a_run,
    move_bad_to_a_run,
    move_bad_to_a_run,
    change_horizon,
    drop_horizon,
    change_kind,
    change_weights,
    change_weights,
    change_plant,
    change_plant,
    change_functions,
    change_limits,
    change_chosen,
    change_guards,
    drop_edge,
    change_period,
    change_policy,
    change_rounding,
)
TREE: tuple[Mutation, ...] = (change_options, drop_region, change_box, change_ends, change_node, change_fork)


def mutate(base: Json, draw: Random) -> tuple[tuple[str, ...], Json]:
    while True:
        data = copy.deepcopy(base)
        used = [draw.choice(CLAIM if draw.random() < 0.7 else TREE) for _ in range(draw.choice((1, 1, 2, 3)))]
        try:
            for mutation in used:
                mutation(data, draw)
        except (NotHere, KeyError, IndexError, TypeError, AttributeError):
            continue
        if data != base:
            return tuple(m.__name__ for m in used), data


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--bases", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--runs", type=int, default=24, help="simulated for each claim")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    draw, tally, wrong = Random(given.seed), Counter[str](), []
    bases = list(make_bases(given.bases, 100_000 + given.seed))
    print(f"{len(bases)} certificates", flush=True)
    for name, base in bases:
        if (what := find_violation(base["claim"]["problem"], draw, given.runs)) is not None:
            wrong.append(f"not mutated: {name}: {what}")
    for number in range(given.count):
        name, base = bases[number % len(bases)]
        used, data = mutate(base, draw)
        try:
            verdict = judge_certificate(data)
            fate = "accepted" if verdict.accepted else "refused"
        except BadCertificate:
            fate = "malformed"
        what = find_violation(data["claim"]["problem"], draw, given.runs)
        tally[fate] += 1
        tally["claims that a run violates"] += what is not None
        for mutation in used:
            tally[f"{mutation}: {fate}"] += 1
        if fate == "accepted" and what is not None:
            wrong.append(f"{name}: {', '.join(used)}: {what}")
            print("FALSE", wrong[-1], flush=True)
            Path(f"false-{given.seed}-{number}.json").write_text(json.dumps(data), encoding="utf-8")
        if number % 100 == 99:
            print(f"{number + 1} mutants, {tally['accepted']} accepted", flush=True)
    lines = [f"{key:45} {count}" for key, count in sorted(tally.items())]
    text = "\n".join([*lines, f"accepted and false: {len(wrong)}", *wrong])
    print(text)
    if given.out is not None:
        given.out.write_text(text + "\n", encoding="utf-8")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
