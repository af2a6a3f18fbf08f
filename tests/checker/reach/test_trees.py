"""Trees of regions: splits, forks, cuts, returns, and what is refused of them."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from tests.checker.reach.loops import (
    affine,
    certificate,
    edge,
    inside,
    name,
    network_of,
    run,
    start_region,
    timed_problem,
)

from surefoot_checker.check import CheckerVerdict, judge_certificate
from surefoot_checker.kernel.strict_json import BadCertificate

Json = Any
HALF = network_of(1, affine(0, [[-0.5]], [0.0]))  # u = -x / 2


def stable(asked: Json, starts: tuple[str, str] = ("-1", "1"), **more: Json) -> Json:
    """x' = u, u = -x/2 held for 1: x halves in every period."""
    return timed_problem({"x": starts}, [name("u")], "1", HALF, asked, **more)


def judged(written: Json) -> CheckerVerdict:
    return judge_certificate(written)


NEVER = {"kind": "never", "condition": ["<", "1.5", ["abs", name("x")]]}


def test_return_into_the_starts_is_for_ever() -> None:
    region = start_region({"x": ("-1", "1")}, run(1, ["return", 0]))
    found = judged(certificate(stable(NEVER), [region]))
    assert found.accepted, found.reason
    assert found.claim.startswith(
        "no run of `loop`, controlled by a network every 1 units of continuous time, is"
    )


def test_return_through_another_region() -> None:
    wide = start_region({"x": ("-1", "1")}, run(1, ["return", 1]))
    small = {"start": False, "box": {"x": ["-0.6", "0.6"]}, "tree": ["run", 1, ["return", 1]]}
    assert judged(certificate(stable(NEVER), [wide, small])).accepted
    open_end = {**small, "tree": run(1)}
    found = judged(certificate(stable(NEVER), [wide, open_end]))
    assert not found.accepted
    assert found.reason == "region 1: the walk ends too early, after 1 periods"


@pytest.mark.parametrize(
    ("tree", "words"),
    [
        (["return", 0], "before the first period"),
        (run(0, ["return", 0]), "before the first period"),
        (run(1), "too early"),
        (run(1, ["return", 1]), "not inside"),
    ],
)
def test_returns_that_show_nothing(tree: Json, words: str) -> None:
    far = {"start": False, "box": {"x": ["0", "0.1"]}, "tree": ["run", 1, ["return", 1]]}
    found = judged(certificate(stable(NEVER), [start_region({"x": ("-1", "1")}, tree), far]))
    assert not found.accepted
    assert words in found.reason


def test_return_where_there_is_an_end() -> None:
    """Nothing is bad at any time at all, so not before the end either; a goal is not reached by returning."""
    region = start_region({"x": ("-1", "1")}, run(1, ["return", 0]))
    for limits in ({"until": "7.5"}, {"since": "3", "until": "7.5"}):
        assert judged(certificate(stable({**NEVER, **limits}), [region])).accepted
    found = judged(certificate(stable({"kind": "eventually", "condition": False, "until": "3"}), [region]))
    assert not found.accepted
    assert "never happens" in found.reason


def test_bad_states_count_up_to_the_end_after_a_return() -> None:
    """x grows by half of itself: it is beyond 2 in the second period after a return."""
    grow = network_of(1, affine(0, [[0.5]], [0.0]))
    asked = {"kind": "never", "condition": ["<", "2", ["abs", name("x")]], "until": "2"}
    problem = timed_problem({"x": ("-1", "1")}, [name("u")], "1", grow, asked)
    first = start_region({"x": ("-1", "1")}, run(1, ["return", 1]))
    wide = {"start": False, "box": {"x": ["-1.6", "1.6"]}, "tree": run(2)}
    found = judged(certificate(problem, [first, wide]))
    assert not found.accepted
    assert "region 1: a bad state may be reached" in found.reason


def test_a_return_with_something_behind_it_is_none() -> None:
    """Where regions that are returned to are looked for, and where a walk ends, returns are the same."""
    for asked in ({**NEVER, "until": "3"}, NEVER):
        region = start_region({"x": ("-1", "1")}, run(1, ["return", 0, ["done"]]))
        with pytest.raises(BadCertificate, match="return"):
            judged(certificate(stable(asked), [region]))


def test_continuous_time_without_controls_is_not_covered() -> None:
    """Nobody would decide anything, so that no successor would be left to look at."""
    problem = stable({**NEVER, "until": "1"})
    problem["time"]["derivatives"] = [100]
    problem["controls"] = []
    problem["policy"] = {**problem["policy"], "choose": "argmax", "network": None, "observe": []}
    with pytest.raises(BadCertificate, match="sets controls"):
        judged(certificate(problem, [start_region({"x": ("-1", "1")}, run(1))]))


def test_bad_states_count_in_regions_that_are_returned_to() -> None:
    """Bad is x = 0.7, but only since time 1: a run that returns has no such excuse."""
    asked = {"kind": "never", "condition": ["<", "0.7", ["abs", name("x")]], "since": "1"}
    back = start_region({"x": ("-1", "1")}, run(1, ["return", 0]))
    assert "a bad state may be reached at time 0" in judged(certificate(stable(asked), [back])).reason
    away = start_region({"x": ("-1", "1")}, run(1, ["return", 1]))
    inner = {"start": False, "box": {"x": ["-0.6", "0.6"]}, "tree": ["run", 1, ["return", 1]]}
    assert judged(certificate(stable(asked), [away, inner])).accepted


def test_splits_and_what_is_outside() -> None:
    """The starts are only half of the region's box."""
    asked = {"kind": "never", "condition": ["<", "0.9", name("x")], "until": "2"}
    problem = stable(asked, ("-1", "0.5"))
    problem["initial"] = ["and", inside({"x": ("-1", "1")}), ["<=", ["+", name("x"), name("x")], 1]]
    halves = ["split", 0, ["split", 0, run(2), run(2)], ["split", 0, run(2), ["outside"]]]
    found = judged(certificate(problem, [start_region({"x": ("-1", "1")}, halves)]))
    assert not found.accepted
    assert "a part of the starts is left out" in found.reason
    problem["initial"][2] = ["<", ["+", name("x"), name("x")], "0.99"]
    assert judged(certificate(problem, [start_region({"x": ("-1", "1")}, halves)])).accepted
    halves[3] = ["split", 0, ["done"], ["outside"]]
    assert "too early" in judged(certificate(problem, [start_region({"x": ("-1", "1")}, halves)])).reason


def test_starts_that_a_number_stands_for() -> None:
    """`x` as a condition says that it is not 0: not that it is 1, as of a truth value."""
    asked = {"kind": "never", "condition": ["<", name("x"), "0.4"], "until": "1"}
    problem = stable(asked, ("-1", "1"))
    problem["initial"] = ["and", inside({"x": ("-1", "1")}), name("x")]
    found = judged(certificate(problem, [start_region({"x": ("1", "1")}, run(1))]))
    assert not found.accepted
    assert "a number stands where a truth value is needed" in found.reason


def test_starts_in_several_cases() -> None:
    asked = {"kind": "never", "condition": ["<", "0.9", ["abs", name("x")]], "until": "1"}
    problem = stable(asked)
    cases = [
        "or",
        inside({"x": ("-0.5", "-0.4")}),
        ["not", ["or", ["<", name("x"), "0.4"], ["<", "0.5", name("x")]]],
    ]
    problem["initial"] = cases
    low, high = start_region({"x": ("-0.5", "-0.4")}, run(1)), start_region({"x": ("0.4", "0.5")}, run(1))
    assert judged(certificate(problem, [low, high])).accepted
    for part in ([low], [high], [low, start_region({"x": ("0.4", "0.49")}, run(1))]):
        assert "not covered" in judged(certificate(problem, part)).reason
    problem["initial"] = ["or", *cases[1:], ["=", name("x"), "0.7"]]
    assert "not covered" in judged(certificate(problem, [low, high])).reason


def test_cuts_make_halves() -> None:
    region = start_region({"x": ("-1", "1")}, ["cut", 0, run(1, ["return", 0]), run(1, ["return", 0])])
    found = judged(certificate(stable(NEVER), [region]))
    assert found.accepted
    assert found.states == 3
    missing = start_region({"x": ("-1", "1")}, ["cut", 7, run(1), run(1)])
    assert "does not have" in judged(certificate(stable(NEVER), [missing])).reason


def test_trees_may_be_shared_and_deep() -> None:
    """Nodes by number: a chain that JSON could not nest."""
    nodes: list[Json] = [["done"]]
    for number in range(3000):
        nodes.append(["run", 0, number])
    asked = {**NEVER, "until": "2"}
    region = start_region({"x": ("-1", "1")}, ["run", 2, len(nodes) - 1])
    assert judged(certificate(stable(asked), [region], nodes=nodes)).accepted
    nodes[5] = ["run", 0, 5]
    region["tree"] = 5
    with pytest.raises(BadCertificate, match="node: not an integer"):
        judged(certificate(stable(asked), [region], nodes=nodes))


def test_within_and_at_a_time() -> None:
    small = ["<", ["abs", name("x")], "0.3"]
    region = start_region({"x": ("-1", "1")}, run(9))
    for limits, accepted in (
        ({"until": "2"}, True),
        ({"until": "1"}, False),
        ({"since": "2", "until": "2"}, True),
        ({"since": "1.5", "until": "1.5"}, False),
        ({}, True),
    ):
        found = judged(certificate(stable({"kind": "eventually", "condition": small, **limits}), [region]))
        assert found.accepted is accepted, limits


def test_before_a_goal() -> None:
    """x' = 1 - u runs into x > 3, but not before x > 2."""
    rules = [{"when": True, "then": [0]}]
    asked = {"kind": "never", "condition": ["<", 3, name("x")], "before": ["<", 2, name("x")]}
    problem = timed_problem({"x": ("0", "0.5")}, [1], "0.25", None, asked, rules=rules)
    region = start_region({"x": ("0", "0.5")}, run(20))
    assert judged(certificate(problem, [region])).accepted
    problem["property"]["condition"] = ["<", "1.9", name("x")]
    assert not judged(certificate(problem, [region])).accepted


def test_chosen_values_at_any_time() -> None:
    """x' = w with w in [-1, 1] comes to 1, not beyond."""
    rules = [{"when": True, "then": [0]}]

    def asks(limit: str) -> Json:
        asked = {"kind": "never", "condition": ["<", limit, name("x")], "until": "1"}
        chosen = [["w", ["real", -1, 1]]]
        return timed_problem({"x": ("0", "0")}, [name("w")], "0.5", None, asked, rules=rules, chosen=chosen)

    region = start_region({"x": ("0", "0")}, run(2))
    assert judged(certificate(asks("1.001"), [region])).accepted
    assert not judged(certificate(asks("0.999"), [region])).accepted


def test_rules_that_are_not_decided_need_a_fork() -> None:
    """Left of 0 the control is 1, right of it -1."""
    rules = [{"when": ["<", name("x"), 0], "then": [1]}, {"when": True, "then": [-1]}]
    asked = {"kind": "never", "condition": ["<", "1.01", ["abs", name("x")]]}
    problem = timed_problem({"x": ("-1", "1")}, [name("u")], "0.9", None, asked, rules=rules)
    back = ["return", 0]
    fork = ["fork", {"0/0/0/": back, "1/0/0/": back, "7/0/0/": back}]
    assert judged(certificate(problem, [start_region({"x": ("-1", "1")}, fork)])).accepted
    left_out = start_region({"x": ("-1", "1")}, ["fork", {"0/0/0/": back}])
    assert "leaves out the successor" in judged(certificate(problem, [left_out])).reason
    assert (
        "several successors"
        in judged(certificate(problem, [start_region({"x": ("-1", "1")}, run(1, back))])).reason
    )


# Steps.

DIFFERENCE = network_of(1, affine(0, [[1.0], [-1.0]], [0.0, 0.0]))  # right is better where x < 0


def stepped(asked: Json, plant: str = "exact") -> Json:
    """`left` where x > 0, `right` where x < 0: a step of 1/4 towards 0; `n` counts the steps."""

    def move(action: str, by: str) -> Json:
        updates = [[name("x"), ["+", name("x"), by], 0], [name("n"), ["min", 3, ["+", name("n"), 1]], 0]]
        return edge(updates=updates, action=action)

    return {
        "name": "steps",
        "variables": [["x", ["real", -2, 2]], ["n", ["integer", 0, 3]]],
        "initial": ["and", inside({"x": ("-1", "1")}), ["=", name("n"), 0]],
        "controls": [],
        "components": [
            {
                "name": "",
                "locations": [""],
                "initial": [""],
                "edges": [move("left", "-0.25"), move("right", "0.25")],
            }
        ],
        "synchronisations": [],
        "policy": {
            "rules": [],
            "network": DIFFERENCE,
            "observe": [name("x")],
            "choose": "argmax",
            "actions": ["left", "right"],
            "owns": ["left", "right"],
        },
        "property": asked,
    }


def grow(depth: int) -> Json:
    """Both actions, at every step."""
    if depth == 0:
        return ["done"]
    return ["fork", {"0.0/0/0/": grow(depth - 1), "0.1/1/0/": grow(depth - 1)}]


def test_steps_with_argmax() -> None:
    asked = {"kind": "never", "condition": ["<", "1.26", ["abs", name("x")]], "steps": 4}
    region = start_region({"x": ("-1", "1"), "n": 0}, grow(4))
    for plant in ("exact", "float64"):
        found = judged(certificate(stepped(asked), [region], plant=plant))
        assert found.accepted, found.reason
    tight = {**asked, "condition": ["<", "0.9", ["abs", name("x")]]}
    assert not judged(certificate(stepped(tight), [region])).accepted
    longer = {**asked, "steps": 5}
    assert "too early" in judged(certificate(stepped(longer), [region])).reason


def test_what_is_picked_narrows_the_cell() -> None:
    """Where `left` is picked x is not negative, so that it cannot come below -1/4 in one step."""
    asked = {
        "kind": "never",
        "condition": ["or", ["<", name("x"), "-0.76"], ["<", "0.76", name("x")]],
        "after": 1,
    }
    problem = stepped({**asked, "steps": 1})
    found = judged(certificate(problem, [start_region({"x": ("-1", "1"), "n": 0}, grow(1))]))
    assert found.accepted, found.reason


def test_for_ever_in_steps_with_discrete_values() -> None:
    asked = {"kind": "never", "condition": ["<", "1.01", ["abs", name("x")]]}
    regions = []
    for n in range(4):
        to = ["return", min(n + 1, 3)]
        box = {"x": ["-1", "1"], "n": n}
        tree = ["fork", {"0.0/0/0/": to, "0.1/1/0/": to}]
        regions.append({"start": n == 0, "box": box, "tree": tree})
    assert judged(certificate(stepped(asked), regions)).accepted
    regions[2]["tree"] = ["fork", {"0.0/0/0/": ["return", 2], "0.1/1/0/": ["return", 3]}]
    found = judged(certificate(stepped(asked), regions))
    assert not found.accepted
    assert "region 2: a cell that is said to return is not inside" in found.reason


def test_within_steps() -> None:
    asked = {"kind": "within", "condition": ["<=", ["abs", name("x")], "0.5"], "steps": 2, "after": 0}
    problem = stepped(asked)
    problem["initial"][1] = inside({"x": ("0.6", "0.9")})
    box = {"x": ("0.6", "0.9"), "n": 0}
    assert judged(certificate(problem, [start_region(box, run(2))])).accepted
    problem["property"]["steps"] = 1
    assert (
        "the goal is not surely met by step 1"
        in judged(certificate(problem, [start_region(box, run(2))])).reason
    )
    problem["property"].update(steps=2, after=2)
    assert judged(certificate(problem, [start_region(box, run(2))])).accepted


def test_a_run_that_ends_is_not_good() -> None:
    """Half of the cell has no edge; two guards that exclude each other together are always enabled."""
    asked = {"kind": "within", "condition": ["<=", ["abs", name("x")], "0.5"], "steps": 2, "after": 0}
    problem = stepped(asked)
    problem["initial"][1] = inside({"x": ("0.6", "0.9")})
    box = {"x": ("0.6", "0.9"), "n": 0}
    edges = problem["components"][0]["edges"]
    edges[0]["guard"] = ["<", name("x"), "0.7"]
    ends = judged(certificate(problem, [start_region(box, run(2))]))
    assert not ends.accepted
    assert "a run may end before its goal" in ends.reason
    edges.append({**edges[0], "guard": ["<=", "0.7", name("x")]})
    fork = ["fork", {"0.0/0/0/": run(1), "0.0/2/0/": run(1)}]
    found = judged(certificate(problem, [start_region(box, fork)]))
    assert found.accepted, found.reason


def test_a_variable_that_leaves_its_range() -> None:
    asked = {"kind": "never", "condition": ["<", 5, name("x")], "steps": 1}
    problem = stepped(asked)
    problem["variables"][0] = ["x", ["real", "-1.2", "0.7"]]
    problem["initial"][1] = inside({"x": ("-1", "0.7")})
    problem["components"][0]["edges"][1]["outcomes"][0]["updates"][0][1] = ["+", name("x"), 1]
    found = judged(certificate(problem, [start_region({"x": ("-1", "0.7"), "n": 0}, grow(1))]))
    assert not found.accepted
    assert "leave the range" in found.reason


def test_control_outside_of_its_range() -> None:
    problem = stable({**NEVER, "until": "1"})
    problem["controls"] = [["u", "-0.4", "0.4", False]]
    region = start_region({"x": ("-1", "1")}, run(1))
    assert "outside of its range" in judged(certificate(problem, [region])).reason
    problem["controls"] = [["u", "-0.4", "0.4", True]]
    assert judged(certificate(problem, [region])).accepted


@pytest.mark.parametrize(
    "change",
    [
        lambda w: w["reach"].update(bits=19),
        lambda w: w["reach"].update(bits=97),
        lambda w: w["reach"].update(order=0),
        lambda w: w["reach"].update(taylor=31),
        lambda w: w["reach"].update(pieces=0),
        lambda w: w["reach"].update(extra=1),
        lambda w: w["reach"].update(regions={}),
        lambda w: w["reach"]["regions"][0].update(start=1),
        lambda w: w["reach"]["regions"][0].update(box={}),
        lambda w: w["reach"]["regions"][0].update(box={"x": ["1", "-1"]}),
        lambda w: w["reach"]["regions"][0].update(box={"x": [1]}),
        lambda w: w["reach"]["regions"][0].update(tree=["jump"]),
        lambda w: w["reach"]["regions"][0].update(tree=["run", -1, ["done"]]),
        lambda w: w["reach"]["regions"][0].update(tree=["run", 1]),
        lambda w: w["reach"]["regions"][0].update(tree=["run", 0, ["split", 0, ["done"], ["done"]]]),
        lambda w: w["reach"]["regions"][0].update(tree=["split", 3, ["done"], ["done"]]),
        lambda w: w["reach"]["regions"][0].update(tree=["fork", []]),
        lambda w: w["reach"]["regions"][0].update(tree=["run", 1, ["return", 9]]),
        lambda w: w["reach"]["regions"][0].update(tree=None),
        lambda w: w["reach"]["regions"][0].update(tree=0),
        lambda w: w["claim"].update(plant="other"),
        lambda w: w.update(arithmetic="real"),
        lambda w: w["claim"]["problem"]["property"].update(steps=3),
        lambda w: w["claim"]["problem"]["property"].update(until="-1"),
        lambda w: w["claim"]["problem"]["property"].update(condition=["<", name("u"), 0]),
        lambda w: w["claim"]["problem"]["property"].update(condition=["deadlocked"]),
        lambda w: w["claim"]["problem"]["property"].update(kind="recurs"),
        lambda w: w["claim"]["problem"]["time"].update(period=0),
        lambda w: w["claim"]["problem"]["time"].update(derivatives=[["floor", name("x")]]),
        lambda w: w["claim"]["problem"]["time"].update(derivatives=[["^", name("x"), "0.5"]]),
        lambda w: w["claim"]["problem"]["time"].update(derivatives=[["^", name("x"), 1000]]),
        lambda w: w["claim"]["problem"]["policy"].update(network=None),
        lambda w: w["claim"]["problem"]["policy"].update(observe=[]),
        lambda w: w["claim"]["problem"]["components"][0]["edges"][0].update(guard=["<", name("x"), 0]),
        lambda w: w["claim"]["problem"]["components"][0]["edges"][0].update(assuming=["<", name("x"), 0]),
        lambda w: w["claim"]["problem"]["components"][0]["edges"][0].update(
            chosen=[["w", ["real", None, 1]]]
        ),
        lambda w: w["claim"]["problem"]["components"][0]["edges"][0].update(
            chosen=[["w", ["integer", 0, 1]]]
        ),
    ],
)
def test_malformed_certificates(change: Any) -> None:
    written = certificate(stable({**NEVER, "until": "1"}), [start_region({"x": ("-1", "1")}, run(1))])
    assert judged(copy.deepcopy(written)).accepted
    change(written)
    with pytest.raises(BadCertificate):
        judged(written)
