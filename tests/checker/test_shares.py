"""Shares of a certificate: together they look at everything, and refuse what the whole refuses."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from copy import deepcopy
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from tests.laws.test_worker_laws import swinging_loop
from tests.solvers.native.divided import query_above

from surefoot.certify.checker_process import ask_checker, judge_with_workers
from surefoot.certify.reach.claim import build_reach_certificate
from surefoot.engines.reach.engine import Reach
from surefoot.query.query import Unsat
from surefoot.solvers.native.solver import decide_native_query
from surefoot.verdict.verdict import Proved
from surefoot.work.budget import Budget
from surefoot_checker import check as checker
from surefoot_checker.check import CheckerVerdict, join_verdicts, judge_certificate, useful_shares
from surefoot_checker.claims.unsat.proof_tree import find_state_ends
from surefoot_checker.kernel.share import Share, StepShare
from surefoot_checker.kernel.strict_json import BadCertificate

Json = dict[str, Any]


@lru_cache
def proof_text() -> str:
    answer = decide_native_query(query_above(6, 0.004, True))
    assert isinstance(answer, Unsat)
    assert answer.proof is not None
    content = {"surefoot-certificate": 1, "claim": answer.proof.claim, "arithmetic": answer.proof.arithmetic}
    return json.dumps({**content, "cases": list(answer.proof.cases)})


@lru_cache
def reach_text() -> str:
    problem = swinging_loop("0.7")
    verdict = Reach(order=2, pieces=1, taylor=3).check(problem, Budget(60, workers=1))
    assert isinstance(verdict, Proved)
    return json.dumps(build_reach_certificate(problem, verdict.certificate.content, {}).content)


def in_shares(whole: Json, count: int) -> CheckerVerdict:
    return join_verdicts([judge_certificate(deepcopy(whole), share=Share(n, count)) for n in range(count)])


def is_accepted(whole: Json, count: int) -> bool:
    try:
        return in_shares(whole, count).accepted
    except BadCertificate:
        return False


def test_every_step_belongs_to_exactly_one_share() -> None:
    generator = random.Random(1)
    for _ in range(60):
        count, total = generator.randint(1, 7), generator.randint(1, 400)
        before = generator.randint(0, total - 1)
        shares = [StepShare(Share(n, count), total, before) for n in range(count)]
        for place in range(total - before):
            assert sum(share.owns(place) for share in shares) == 1
        first = generator.randint(0, total - before - 1)
        end = generator.randint(first + 1, total - before)
        for share in shares:
            assert share.touches(first, end) == any(map(share.owns, range(first, end)))
    with pytest.raises(ValueError, match="share"):
        Share(2, 2)


@pytest.mark.parametrize("text", [proof_text, reach_text])
def test_shares_count_what_the_whole_counts(text: Any) -> None:
    whole = json.loads(text())
    expected = judge_certificate(deepcopy(whole))
    assert expected.accepted
    for count in (1, 2, 3, 5):
        found = in_shares(whole, count)
        assert found.accepted
        assert (found.claim, found.steps, found.states) == (expected.claim, expected.steps, expected.states)


def damaged_proofs() -> Iterator[Json]:
    generator = random.Random(2)
    steps = json.loads(proof_text())["cases"][0]["steps"]
    for number in range(24):
        whole = json.loads(proof_text())
        found, place = whole["cases"][0]["steps"], generator.randrange(len(steps))
        match number % 6:
            case 0:
                del found[place]
            case 1:
                found.insert(place, deepcopy(found[generator.randrange(len(found))]))
            case 2:
                del found[place:]
            case 3:
                found[place], found[place - 1] = found[place - 1], found[place]
            case 4:
                drops = [n for n, step in enumerate(found) if step[0] == "drop"]
                found[generator.choice(drops)][2] = {}
            case _:
                splits = [n for n, step in enumerate(found) if step[0] == "split"]
                found[generator.choice(splits)] = ["drop", [0], {}]
        yield whole


def test_shares_refuse_what_the_whole_refuses() -> None:
    refused = 0
    for whole in damaged_proofs():
        accepted = is_accepted(whole, 1)
        refused += not accepted
        assert is_accepted(whole, 2) == accepted
        assert is_accepted(whole, 3) == accepted
    assert refused > 12


def test_a_share_that_is_left_out_is_not_a_verdict() -> None:
    """What closes one state is damaged: exactly the shares that look at it refuse."""
    whole = json.loads(proof_text())
    steps = whole["cases"][0]["steps"]
    place = next(n for n in range(len(steps) // 2, len(steps)) if steps[n][0] == "drop")
    steps[place][2] = {}
    mine = [StepShare(Share(n, 2), len(steps)).owns(place) for n in range(2)]
    found = [judge_certificate(deepcopy(whole), share=Share(n, 2)).accepted for n in range(2)]
    assert not any(own and accepted for own, accepted in zip(mine, found, strict=True))
    assert not join_verdicts(
        [judge_certificate(deepcopy(whole), share=Share(n, 2)) for n in range(2)]
    ).accepted


def test_every_cell_is_followed_by_somebody() -> None:
    """The end of one cell after the other is damaged."""
    places = list(list_ends(json.loads(reach_text()), ()))
    assert len(places) >= 4
    for place in places:
        whole = json.loads(reach_text())
        node = whole
        for step in place[:-1]:
            node = node[step]
        node[place[-1]] = ["run", 0, ["done"]]
        assert not is_accepted(whole, 1)
        assert not is_accepted(whole, 3)


def list_ends(node: Any, place: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """Where runs stand that are not behind other runs."""
    if isinstance(node, list) and node and node[0] == "run":
        yield place
    elif isinstance(node, list | dict):
        for key, part in enumerate(node) if isinstance(node, list) else node.items():
            yield from list_ends(part, (*place, key))


def test_where_states_end_is_seen_in_the_steps() -> None:
    drop, both = ["drop", [0], {}], ["drop", [0, 1], {}]
    assert find_state_ends([["split", 0, 0, [1, 2]], drop, drop], 1) == {0: 3, 1: 2, 2: 3}
    assert find_state_ends([["forward", 1], both], 3) == {0: 2}
    split = ["split", 0, 0, [1, 2]]
    several: list[list[Any]] = [[drop], [drop, drop, drop], [split, both], [7], [[]], [["drop", 0, {}]]]
    for strange in several:
        assert find_state_ends(strange, 3) == {}


def test_only_large_certificates_are_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = json.loads(proof_text())
    assert useful_shares(whole) == 1
    several: list[Json] = [{}, {"cases": 3}, {"obligations": [1, {"cases": "x"}]}, {"reach": {"regions": 7}}]
    for strange in several:
        assert useful_shares(strange) == 1
    monkeypatch.setattr(checker, "STEPS", 50)
    assert useful_shares(whole) >= 4


def test_the_checker_is_asked_in_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checker, "STEPS", 50)
    whole = json.loads(proof_text())
    alone, several = ask_checker(whole, Budget(60, workers=1)), ask_checker(whole, Budget(60, workers=2))
    assert several.accepted
    assert several == alone
    whole["cases"][0]["steps"][-1][2] = {}
    found = ask_checker(whole, Budget(60, workers=2))
    assert found.refused
    assert "no positive bound" in found.text
    assert not ask_checker(whole, Budget(0.0, workers=2)).accepted


def test_a_certificate_that_is_checked_again_is_judged_in_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checker, "STEPS", 50)
    whole = json.loads(proof_text())
    assert judge_with_workers(whole, Path(), 2) == judge_with_workers(whole, Path(), 1)
    whole["cases"][0]["steps"][-1][2] = {}
    assert not judge_with_workers(whole, Path(), 2).accepted
    with pytest.raises(BadCertificate):
        judge_with_workers({**whole, "arithmetic": "some"}, Path(), 2)


def divided_claim(*, true: bool) -> Json:
    """`x <= -1 or 0.6 <= x <= 0.7` of x in [0, 1], with a `divide` that one share passes over.

    `true`: the second alternative is `1.6 <= x <= 1.7`.
    """
    add = int(true)
    first, second, other = (["drop", [s], {"atoms": [[a, 1]]}] for s, a in ((0, 0), (1, 1), (1, 2)))
    idle: list[Any] = ["cut", []]
    core = [
        ["split", 0, 0, "1/2"],
        ["divide", [0]],
        second,
        first,
        ["split", 0, 0, "3/4"],
        second,
        ["drop", [0, 1], {}],
    ]
    honest = [["split", 0, 0, "1/2"], ["divide", [0]], first, second, second, first]
    right = [second, first] if true else [other, first]
    steps = [idle] * (125 - len(core) - 1) + [["split", 0, 0, "9/10"]]
    if true:
        steps += [*honest, *[idle] * 1500, *right]
    else:
        steps += [*core, *[idle] * 123, *right, *[idle] * (2000 - 250 - 2), *right]
    low, high = f"{add}.6", f"-{add}.7"
    formula = ["or", ["<=", {"x": 1, "": 1}], ["and", ["<=", {"x": -1, "": low}], ["<=", {"x": 1, "": high}]]]
    atoms = [["<=", {"x": 1, "": 1}], ["<=", {"x": -1, "": low}], ["<=", {"x": 1, "": high}]]
    claim = {
        "kind": "query",
        "variables": [["x", 0, 1, "real"]],
        "networks": [],
        "calls": [],
        "formula": formula,
    }
    cases = [{"atoms": atoms, "sets": [[0], [1, 2]], "steps": steps}]
    return {"surefoot-certificate": 2, "arithmetic": "real", "claim": claim, "cases": cases}


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7])
def test_a_divided_state_is_passed_over_by_nobody_who_should_look(count: int) -> None:
    assert not is_accepted(divided_claim(true=False), count)
    assert is_accepted(divided_claim(true=True), count)


@pytest.mark.parametrize("count", [2, 3, 4])
def test_ends_that_are_not_those_of_the_states_are_refused(
    monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    """Where the ends are worked out wrongly, who follows a state sees it."""
    monkeypatch.setattr("surefoot_checker.claims.unsat.proof_tree.sets_of_parts",
                        lambda step, alive: (alive, alive) if step[0] == "split" else None)  # fmt: skip
    assert not is_accepted(divided_claim(true=False), count)
