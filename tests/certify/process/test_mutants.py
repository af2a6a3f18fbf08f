"""Damaged certificates of values: whatever claims something false is rejected."""

from collections import Counter
from copy import deepcopy
from fractions import Fraction
from random import Random
from typing import Any

import pytest
from tests.certify.process.packed import NONE, pack_side, unpack_side
from tests.solvers.markov.random_processes import Rows, cost_of_chain, random_rows, reach_of_chain, schedulers
from tests.solvers.markov.written import one_of, problem

from surefoot.certify.values.canonical import process_problem_to_json
from surefoot.certify.values.claim import build_process_certificate
from surefoot.engines.explicit import Explicit, answer
from surefoot.problem.property import Expected, Path, Probability, Property
from surefoot.verdict.verdict import Exact
from surefoot.work.budget import Budget
from surefoot_checker.check import judge_certificate
from surefoot_checker.claims.values import local_check
from surefoot_checker.kernel.strict_json import BadCertificate

Value = Fraction | None  # None: infinite


def true_value(rows: Rows, kind: str, optimise: str, left: list[bool], right: list[bool]) -> Value:
    """Of state 0, by looking at every way to choose."""
    if kind == "until":
        every: list[Value] = [reach_of_chain(c, left, right)[0] for c in schedulers(rows)]
    else:
        every = [cost_of_chain(c, right)[0] for c in schedulers(rows)]
    finite = [v for v in every if v is not None]
    if optimise == "max":
        return max(finite) if len(finite) == len(every) else None
    return min(finite, default=None)


def asked(kind: str, optimise: str, left: list[bool], right: list[bool]) -> Property:
    if kind == "until":
        return Probability(Path("U", one_of(right), one_of(left)), None, optimise)
    return Expected("cost", one_of(right), None, optimise)


def contains(claim: dict[str, Any], value: Value) -> bool:
    low, high = (None if claim[k] is None else Fraction(_number(claim[k])) for k in ("low", "high"))
    if value is None:
        return high is None
    return low is not None and low <= value and (high is None or value <= high)


def _number(given: int | str) -> Fraction:
    return Fraction(given)


def accepted(content: dict[str, Any]) -> bool:
    try:
        return judge_certificate(content).accepted
    except BadCertificate:
        return False


def damaged_rows(rows: Rows, draw: Random) -> Rows:
    """One choice goes elsewhere, is dropped, or costs more."""
    rows = deepcopy(rows)
    places = [(s, c) for s, choices in enumerate(rows) for c in range(len(choices))]
    if not places:
        return rows
    state, choice = draw.choice(places)
    match draw.randrange(3):
        case 0:
            p, _, r = rows[state][choice][0]
            rows[state][choice][0] = (p, draw.randrange(len(rows)), r)
        case 1:
            del rows[state][choice]
        case 2:
            p, t, r = rows[state][choice][0]
            rows[state][choice][0] = (p, t, r + 2)
    return rows


def damaged_values(content: dict[str, Any], draw: Random) -> None:
    """A claim that is off, with numbers that are meant to support it."""
    claim, (side,) = content["claim"], content["values"]
    scale = int(side["scale"], 16)
    wrong = draw.choice(("low", "high"))
    step = Fraction(draw.randint(1, 9), draw.choice((10, 1000)))
    if claim[wrong] is None:
        claim["low"] = claim["high"] = draw.choice((0, 1, 7))
        return
    moved = _number(claim[wrong]) + (step if wrong == "low" else -step)
    claim["low"] = claim["high"] = str(moved)
    if "rank" in side:
        content["values"] = [damaged_packed(side, wrong, moved, step, draw)]
        return
    match draw.randrange(4):
        case 0:  # all states the same, as an end component could claim
            side["numbers"].append(hex(int(moved * scale)))
            side[wrong] = [len(side["numbers"]) - 1] * side["states"]
        case 1:  # all of them moved
            shift = int(step * scale) if wrong == "low" else -int(step * scale)
            side["numbers"] = [n if isinstance(n, list) else hex(int(n, 16) + shift) for n in side["numbers"]]
        case 2:
            side["low"], side["high"] = side["high"], side["low"]
        case 3:
            side["numbers"] += [hex(0), hex(scale)]
            side["low"] = side["high"] = [len(side["numbers"]) - draw.choice((1, 2)) for _ in side["low"]]


def damaged_packed(
    given: dict[str, Any], wrong: str, moved: Fraction, step: Fraction, draw: Random
) -> dict[str, Any]:
    """The same with the ranks that would help, where there are some."""
    side = unpack_side(given)
    scale, count = side["scale"], len(side["state"])
    match draw.randrange(6):
        case 0:
            side[wrong] = [max(0, int(moved * scale))] * count
        case 1:
            shift = int(step * scale) if wrong == "low" else -int(step * scale)
            side[wrong] = [max(0, v + shift) for v in side[wrong]]
        case 2:
            side["low"], side["high"] = side["high"], side["low"]
        case 3:
            side["low"] = side["high"] = [draw.choice((0, scale)) for _ in range(count)]
        case 4:
            place = draw.randrange(count)
            side["low"] = [max(0, int(moved * scale))] * count
            side["high"] = list(side["low"])
            side["rank"][place] = draw.choice((0, 1, count, NONE))
        case 5:  # states that nobody needs to look at
            keep = sorted(draw.sample(range(count), draw.randrange(1, count + 1)))
            for name in ("state", "low", "high", "rank"):
                side[name] = [side[name][k] for k in keep]
            side[wrong] = [max(0, int(moved * scale))] * len(keep)
    if draw.random() < 0.5:
        side["rank"] = [r if r == 0 else draw.choice((r, 1, 2, count)) for r in side["rank"]]
    return pack_side(side)


FORMS = ("listed", "compiled", "one by one")


@pytest.fixture(params=FORMS)
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Numbers for states in order, or packed ones, which are checked by functions of places or not."""
    if request.param == "listed":
        monkeypatch.setattr(answer, "pack_values", lambda *_: None)
    monkeypatch.setattr(local_check, "WORTHWHILE", 0 if request.param == "compiled" else 10**9)
    return str(request.param)


@pytest.mark.parametrize("block", range(4))
def test_false_claims_are_rejected(block: int, form: str) -> None:
    seen: Counter[str] = Counter()
    seed = 10_000 * block
    while seen["false"] < 75:
        seed += 1
        draw = Random(seed)
        rows, _ = random_rows(seed)
        kind, optimise = draw.choice(("until", "cost")), draw.choice(("min", "max"))
        left, right = ([draw.random() < share for _ in rows] for share in (0.9, 0.3))
        starts = [s == 0 for s in range(len(rows))]
        rows[0] = rows[0] or [[(Fraction(1), len(rows) - 1, 1)]]
        rows[0][0][0] = (*rows[0][0][0][:2], 1)  # so that the reward is known
        wanted = problem(rows, asked(kind, optimise, left, right), starts)
        verdict = Explicit().check(wanted, Budget(30))
        assert isinstance(verdict, Exact)
        certificate = build_process_certificate(wanted, verdict)
        assert certificate is not None
        content: dict[str, Any] = deepcopy(dict(certificate.content))
        if seed % 5 == 0:
            assert accepted(content)
        seen["packed"] += "rank" in content["values"][0]
        truth = true_value(rows, kind, optimise, left, right)
        assert contains(content["claim"], truth)
        match draw.randrange(4):
            case 0:
                rows = damaged_rows(rows, draw)
            case 1:
                optimise = "min" if optimise == "max" else "max"
            case _:
                damaged_values(content, draw)
        other = problem(rows, asked(kind, optimise, left, right), starts)
        content["claim"]["problem"] = process_problem_to_json(other)
        truth = true_value(rows, kind, optimise, left, right)
        if contains(content["claim"], truth):
            seen["still true"] += 1
            continue
        seen["false"] += 1
        assert not accepted(content), (seed, kind, optimise)
    assert seen["packed"] > 50 or form == "listed"


def test_an_end_component_that_claims_one(form: str) -> None:
    """Going round for ever never reaches the goal, though v = 1 satisfies v <= P v."""
    rows: Rows = [
        [[(Fraction(1), 1, 0)]],
        [[(Fraction(1), 0, 0)], [(Fraction(1, 2), 2, 0), (Fraction(1, 2), 3, 0)]],
        [],
        [],
    ]
    goal = [False, False, True, False]
    for optimise, truth in (("max", Fraction(1, 2)), ("min", Fraction(0))):
        wanted = problem(rows, asked("until", optimise, [True] * 4, goal), [True, False, False, False])
        verdict = Explicit().check(wanted, Budget(30))
        assert isinstance(verdict, Exact)
        assert verdict.low is not None
        assert verdict.high is not None
        assert verdict.low <= truth <= verdict.high
        certificate = build_process_certificate(wanted, verdict)
        assert certificate is not None
        content = deepcopy(dict(certificate.content))
        assert accepted(content)
        content["claim"]["low"] = content["claim"]["high"] = 1
        side = content["values"][0]
        if form == "listed":
            side["numbers"].append(side["scale"])
            ones = [len(side["numbers"]) - 1] * side["states"]
            content["values"] = [{**side, "low": ones, "high": ones}]
            tried = [content]
        else:
            plain = unpack_side(side)
            ones = [plain["scale"]] * len(plain["low"])
            around = [[r if r == 0 else rank for r in plain["rank"]] for rank in (1, 2, NONE)]
            tried = [
                {**content, "values": [pack_side({**plain, "low": ones, "high": ones, "rank": ranks})]}
                for ranks in (plain["rank"], *around)
            ]
        for attempt in tried:
            assert not judge_certificate(attempt).accepted
