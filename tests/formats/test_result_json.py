"""Result files: what is in them, and what is refused when they are read."""

import copy
import json
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from surefoot.errors import InvalidProblem
from surefoot.formats.result_json import (
    Annotation,
    annotate_trace,
    annotated_result_to_json,
    result_from_json,
    result_to_json,
)
from surefoot.formats.vnnlib import parse_vnnlib, problem_from_vnnlib
from surefoot.problem.meaning.transition import Transition
from surefoot.problem.network import dense_network
from surefoot.problem.problem import Problem
from surefoot.problem.semantics import Move
from surefoot.verdict.artifact import SuspectedRun
from surefoot.verdict.verdict import (
    Certificate,
    Estimated,
    Exact,
    Found,
    Proved,
    Reason,
    Result,
    Trace,
    Unknown,
    Verdict,
    Violated,
)

DIGEST = "0123456789abcdef" * 4
TRACE = Trace(
    (
        {"x": 3, "y": Fraction(1, 3), "z": 0.1, "b": True, "a": (1, 2)},
        {"x": 4, "y": Fraction(1, 4), "z": -0.0},
    ),
    (Move(Transition(((0, 1),), "go"), (0,), {"d": Fraction(-1, 2)}),),
)


def result(verdict: Verdict) -> Result:
    return Result(
        problem="crossing",
        engine="bmc(milp)",
        verdict=verdict,
        certified=True,
        arithmetic="float32, zero tolerance",
        seed=0,
        versions={"surefoot": "0.1.0"},
        inputs={"policy.onnx": DIGEST},
        seconds=1.5,
        timings={"solve": 1.25},
        notes=("one note",),
        source={"kind": "vnnlib", "network": "policy.onnx"},
    )


def test_the_whole_document() -> None:
    assert result_to_json(result(Violated(TRACE))) == {
        "schema": 1,
        "problem": "crossing",
        "engine": "bmc(milp)",
        "verdict": {
            "kind": "violated",
            "trace": {
                "states": [
                    {
                        "x": "3",
                        "y": "1/3",
                        "z": {"float": "0.1", "hex": "0x1.999999999999ap-4"},
                        "b": True,
                        "a": ["1", "2"],
                    },
                    {"x": "4", "y": "0.25", "z": {"float": "-0.0", "hex": "-0x0.0p+0"}},
                ],
                "moves": [{"edges": [[0, 1]], "label": "go", "outcomes": [0], "chosen": {"d": "-0.5"}}],
                "loop": None,
            },
        },
        "certified": True,
        "arithmetic": "float32, zero tolerance",
        "seed": 0,
        "versions": {"surefoot": "0.1.0"},
        "inputs": {"policy.onnx": DIGEST},
        "seconds": 1.5,
        "timings": {"solve": 1.25},
        "notes": ["one note"],
        "source": {"kind": "vnnlib", "network": "policy.onnx"},
    }


def test_intervals_contain_the_true_value() -> None:
    verdict = result_to_json(
        result(Estimated(Fraction(1, 3), Fraction(2, 3), Fraction(99, 100), {"runs": 7}))
    )
    assert verdict["verdict"] == {
        "kind": "estimated",
        "low": "1/3",
        "high": "2/3",
        "decimal": ["0.333333333333", "0.666666666667"],
        "confidence": "0.99",
        "counts": {"runs": 7},
    }


def test_huge_bounds_are_rounded_outward() -> None:
    low, high = Fraction(1, 3**20_000), 1 - Fraction(1, 7**20_000)
    verdict = result_to_json(result(Exact(low, high, Certificate("markov", {}))))["verdict"]
    assert len(verdict["low"]) < 80
    read = result_from_json(
        result_to_json(result(Exact(low, high, Certificate("markov", {}))))
    ).result.verdict
    assert isinstance(read, Exact)
    assert low * (1 - Fraction(1, 10**50)) < read.low <= low
    assert high <= read.high <= 1


def test_an_artifact_that_is_no_data_is_shown_as_text() -> None:
    assert result_to_json(result(Found(Fraction(1, 3), None)))["verdict"] == {
        "kind": "found",
        "artifact_text": "Fraction(1, 3)",
        "certificate": None,
    }


def test_a_certificate_must_be_data() -> None:
    with pytest.raises(TypeError, match="Fraction is not JSON data"):
        result_to_json(result(Proved(Certificate("split", {"x": Fraction(1, 3)}))))


@pytest.fixture
def query() -> Problem:
    text = "(declare-const X_0 Real)(declare-const Y_0 Real)(assert (= X_0 0.5))(assert (>= Y_0 1))"
    return problem_from_vnnlib(dense_network([([[3.0]], [0.1])]), parse_vnnlib(text), "query")


def test_a_trace_shows_what_the_policy_saw_and_decided(query: Problem) -> None:
    trace = Trace(({"X_0": Fraction(1, 2)},), ())
    data = annotated_result_to_json(query, result(Violated(trace)))
    output = {"float": "1.600000023841858", "hex": "0x1.99999a0000000p+0"}
    assert data["verdict"]["trace"]["decisions"] == [
        {
            "observation": [{"float": "0.5", "hex": "0x1.0000000000000p-1"}],
            "outputs": [output],
            "actions": [],
            "controls": {"Y_0": "1.60000002384185791015625"},
            "stalled": False,
        }
    ]
    stored = result_from_json(json.loads(json.dumps(data)))
    assert stored.annotations == annotate_trace(query, trace)
    assert isinstance(stored.annotations[0], Annotation)
    assert (stored.kind, stored.trace, stored.problem) == ("violated", trace, "crossing")
    assert (stored.inputs, stored.source["kind"]) == ({"policy.onnx": DIGEST}, "vnnlib")


def test_a_state_without_decision_is_shown_without(query: Problem) -> None:
    trace = Trace(({"X_0": Fraction(10) ** 300},), ())
    assert annotated_result_to_json(query, result(Violated(trace)))["verdict"]["trace"]["decisions"] == [None]


def remove(data: Any, *path: Any) -> None:
    *inner, last = path
    for key in inner:
        data = data[key]
    del data[last]


def put(value: Any, *path: Any) -> Callable[[Any], None]:
    def change(data: Any) -> None:
        *inner, last = path
        for key in inner:
            data = data[key]
        data[last] = value

    return change


TRACE_AT = ("verdict", "trace")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put(2, "schema"), "schema: expected 1, the only version of this format so far"),
        (lambda d: remove(d, "verdict"), "verdict: expected this key"),
        (put("maybe", "verdict", "kind"), "verdict.kind: expected one of proved, violated, "),
        (put([], *TRACE_AT), "verdict.trace: expected an object"),
        (put(3, *TRACE_AT, "states", 0, "x"), "verdict.trace.states[0].x: expected a number as text"),
        (put("1_0", *TRACE_AT, "states", 0, "x"), "verdict.trace.states[0].x: expected a number as text"),
        (put("1/0", *TRACE_AT, "states", 0, "x"), "verdict.trace.states[0].x: expected a denominator"),
        (put("1e99999", *TRACE_AT, "states", 0, "x"), "verdict.trace.states[0].x: the exponent of `1e99999`"),
        (
            put("0.2", *TRACE_AT, "states", 0, "z", "float"),
            "verdict.trace.states[0].z: expected a finite float",
        ),
        (
            put("inf", *TRACE_AT, "states", 0, "z", "hex"),
            "verdict.trace.states[0].z: expected a finite float",
        ),
        (
            put("x", *TRACE_AT, "states", 0, "z", "hex"),
            "verdict.trace.states[0].z: expected a float in decimal",
        ),
        (
            put("x", *TRACE_AT, "states", 1, "a\nb"),
            "verdict.trace.states[1].a\\nb: expected a number as text",
        ),
        (put([], *TRACE_AT, "moves"), "verdict.trace.moves: expected 1 moves between 2 states"),
        (put([[0]], *TRACE_AT, "moves", 0, "edges"), "verdict.trace.moves[0].edges[0]: expected a component"),
        (put(5, *TRACE_AT, "loop"), "verdict.trace.loop: expected the number of a state"),
        (put("abc", "inputs", "policy.onnx"), "inputs.policy.onnx: expected a SHA-256 digest"),
        (put("1", "seconds"), "seconds: expected a number of seconds"),
        (put(float("nan"), "seconds"), "seconds: expected a number of seconds"),
        (put(1, "certified"), "certified: expected true or false"),
        (put({}, "notes"), "notes: expected a list"),
        (put([], "witnesses"), "witnesses: expected a list that is not empty"),
        (put(None, "witnesses"), "witnesses: expected a list"),
        (put([], *TRACE_AT, "recurrence"), "verdict.trace.recurrence: expected a list that is not empty"),
        (put(None, *TRACE_AT, "recurrence"), "verdict.trace.recurrence: expected a list"),
        (put({}, "verdict", "suspicion"), "verdict.suspicion: expected an `unknown` verdict"),
    ],
)
def test_a_damaged_file_is_refused(change: Callable[[Any], None], message: str) -> None:
    data = copy.deepcopy(result_to_json(result(Violated(TRACE))))
    change(data)
    with pytest.raises(InvalidProblem) as error:
        result_from_json(data)
    assert str(error.value).startswith(message)
    assert len(str(error.value).splitlines()) == 1


@pytest.mark.parametrize("data", [None, [], "x", 3, {}])
def test_anything_else_is_refused(data: object) -> None:
    with pytest.raises(InvalidProblem):
        result_from_json(data)


SUSPICION = SuspectedRun(
    (0.0, 0.5), ({"x": 1.0}, {"x": 2.5}), ({"u": 0.25},), 0.5, 12, "Runge-Kutta of order 4", 1e-9
)


def suspected() -> dict[str, Any]:
    seen = Unknown(Reason.NUMERICS, "a run was seen; that is not proved", artifact=SUSPICION)
    return copy.deepcopy(result_to_json(result(seen)))


def test_a_suspicion_is_read_back() -> None:
    verdict = result_from_json(suspected()).result.verdict
    assert isinstance(verdict, Unknown)
    assert verdict.artifact == SUSPICION


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put(3, "verdict", "suspicion"), "verdict.suspicion: expected an object"),
        (put({}, "verdict", "suspicion"), "verdict.suspicion.time: expected this key"),
        (put("0.5", "verdict", "suspicion", "time"), "verdict.suspicion.time: expected a finite number"),
        (put(True, "verdict", "suspicion", "error"), "verdict.suspicion.error: expected a finite number"),
        (put(-1, "verdict", "suspicion", "runs"), "verdict.suspicion.runs: expected a whole number"),
        (put(7, "verdict", "suspicion", "method"), "verdict.suspicion.method: expected a text"),
        (
            put([0.5, 0.0], "verdict", "suspicion", "times"),
            "verdict.suspicion.times: expected times in order",
        ),
        (
            put([0.0], "verdict", "suspicion", "times"),
            "verdict.suspicion.states: expected one state for each",
        ),
        (put([], "verdict", "suspicion", "states"), "verdict.suspicion.states: expected one state for each"),
        (
            put(float("inf"), "verdict", "suspicion", "states", 0, "x"),
            "verdict.suspicion.states[0].x: expected a finite number",
        ),
        (put({}, "verdict", "suspicion", "states", 1), "verdict.suspicion.states[1]: expected the names"),
        (put({}, "verdict", "suspicion", "controls"), "verdict.suspicion.controls: expected a list"),
        (put(1, "verdict", "suspicion", "more"), "verdict.suspicion.more: expected no such key"),
        (put([SUSPICION.time], "witnesses"), "witnesses: expected a `violated` verdict"),
    ],
)
def test_a_misshapen_suspicion_is_refused(change: Callable[[Any], None], message: str) -> None:
    data = suspected()
    change(data)
    with pytest.raises(InvalidProblem) as error:
        result_from_json(data)
    assert str(error.value).startswith(message)
    assert len(str(error.value).splitlines()) == 1
