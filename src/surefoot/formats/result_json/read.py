"""Reading a result back, as `surefoot certify` does: every key is checked, errors name the path to it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal, NoReturn

from surefoot.errors import InvalidProblem
from surefoot.formats.result_json.exact_numbers import (
    DIGITS,
    INFINITE,
    float_from_json,
    number_from_json,
    result_format_error,
    round_ends_outward,
    value_from_json,
)
from surefoot.problem.meaning.transition import Transition
from surefoot.problem.semantics import Move, State
from surefoot.term.parser import parse_term
from surefoot.term.term import Term
from surefoot.verdict.artifact import Flowpipe, FlowpipePiece, FollowedStarts, SuspectedRun
from surefoot.verdict.verdict import (
    Certificate,
    Estimated,
    Exact,
    Found,
    Holds,
    PerStart,
    Proved,
    Reason,
    RecurrenceRegion,
    Result,
    Trace,
    Unknown,
    Vacuous,
    Verdict,
    Violated,
)
from surefoot_checker.kernel.format_1 import translate_certificate
from surefoot_checker.kernel.strict_json import BadCertificate

SCHEMA = 1
_SUSPICION = frozenset({"time", "runs", "method", "error", "times", "states", "controls"})
_DIGEST = re.compile(r"[0-9a-f]{64}\Z")


@dataclass(frozen=True, slots=True)
class Annotation:
    """What the policy saw and decided in one state; observation and outputs are float32 numbers."""

    observation: tuple[float, ...]
    outputs: tuple[float, ...]
    actions: tuple[str, ...] = ()
    controls: Mapping[str, Any] = field(default_factory=dict)
    stalled: bool = False


@dataclass(frozen=True, slots=True)
class StoredResult:
    """A result from a file: a claim, to be checked again."""

    result: Result
    kind: str
    annotations: tuple[Annotation | None, ...] = ()
    words: str | None = None  # the property, as the file states it
    statement: tuple[str, ...] | None = None  # what was found out, as the file states it
    thresholds: tuple[str | None, ...] = ()  # answers of the verdict and of those in its table, likewise
    decisions: tuple[tuple[Annotation | None, ...], ...] = ()  # of each witness

    @property
    def problem(self) -> str:
        return self.result.problem

    @property
    def source(self) -> Mapping[str, object]:
        return self.result.source

    @property
    def inputs(self) -> Mapping[str, str]:
        return self.result.inputs

    @property
    def trace(self) -> Trace | None:
        return self.result.verdict.trace if isinstance(self.result.verdict, Violated) else None


@dataclass(frozen=True, slots=True)
class _Node:
    """A value of the file and the path to it."""

    value: Any
    place: str

    def fail(self, expected: str) -> NoReturn:
        raise result_format_error(self.place, expected)

    def table(self) -> dict[str, Any]:
        return self.value if isinstance(self.value, dict) else self.fail("an object")

    def fields(self) -> dict[str, _Node]:
        return {key: _Node(value, _join_path(self.place, key)) for key, value in self.table().items()}

    def key(self, name: str) -> _Node:
        place = _join_path(self.place, name)
        return _Node(self.value[name], place) if name in self.table() else _Node(None, place).fail("this key")

    def get_member(self, name: str) -> _Node | None:
        """The value of a key that may be missing, or null."""
        return None if self.table().get(name) is None else self.key(name)

    def values(self) -> list[Any]:
        return self.value if isinstance(self.value, list) else self.fail("a list")

    def entries(self) -> list[_Node]:
        return [_Node(value, f"{self.place}[{i}]") for i, value in enumerate(self.values())]

    def some_entries(self) -> list[_Node]:
        """Of a key that is left out where there are none."""
        return self.entries() if self.values() else self.fail("a list that is not empty; leave the key out")

    def text(self) -> str:
        return self.value if isinstance(self.value, str) else self.fail("a text")

    def text_of(self, name: str) -> str:
        """The text of a key that may be missing."""
        return self.key(name).text() if name in self.table() else ""

    def texts(self) -> tuple[str, ...]:
        return tuple(entry.text() for entry in self.entries())

    def truth(self) -> bool:
        return self.value if isinstance(self.value, bool) else self.fail("true or false")

    def whole_number(self) -> int:
        if not isinstance(self.value, int) or isinstance(self.value, bool):
            self.fail("a whole number")
        return self.value

    def count(self) -> int:
        if not isinstance(self.value, int) or isinstance(self.value, bool) or self.value < 0:
            self.fail("a whole number, not negative")
        return self.value

    def steps(self) -> int | None:
        return None if self.value is None else self.count()

    def counts(self) -> tuple[int, ...]:
        return tuple(_Node(value, self.place).count() for value in self.values())

    def number(self) -> Fraction:
        return Fraction(number_from_json(self.value, self.place))

    def optional_number(self, name: str) -> Fraction | None:
        """The number of a key that may be null."""
        return None if self.key(name).value is None else self.key(name).number()

    def floats(self) -> tuple[float, ...]:
        return tuple(float_from_json(value, self.place) for value in self.values())

    def real_number(self) -> float:
        """A plain JSON number, of something that is not exact."""
        found = self.value
        if not isinstance(found, int | float) or isinstance(found, bool) or not math.isfinite(found):
            self.fail("a finite number")
        return float(found)

    def plain_floats(self) -> tuple[float, ...]:
        """Numbers of which nothing depends on the last digit."""
        for value in self.values():
            if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
                self.fail("numbers")
        return tuple(map(float, self.values()))

    def seconds(self) -> float:
        found = self.value
        if (
            not isinstance(found, int | float)
            or isinstance(found, bool)
            or not math.isfinite(found)
            or found < 0
        ):
            self.fail("a number of seconds")
        return float(found)

    def digest(self) -> str:
        if not isinstance(self.value, str) or not _DIGEST.match(self.value):
            self.fail("a SHA-256 digest")
        return self.value

    def state(self) -> State:
        return {name: value_from_json(node.value, node.place) for name, node in self.fields().items()}

    def term(self) -> Term:
        try:
            return parse_term(self.text())
        except InvalidProblem as error:
            raise result_format_error(self.place, f"a term ({error})") from None


def _join_path(where: str, key: str) -> str:
    """The path to a key; names from the file are kept short and on one line."""
    short = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in key[:80])
    return f"{where}.{short}" if where else short


def result_from_json(data: object) -> StoredResult:
    """The result that `to_json` wrote; anything else is refused in one line."""
    if not isinstance(data, dict):
        raise result_format_error("result", "an object")
    top = _Node(data, "")
    if top.key("schema").value != SCHEMA:
        top.key("schema").fail(f"{SCHEMA}, the only version of this format so far")
    verdict = top.key("verdict")
    said = verdict.table()
    result = Result(
        problem=top.key("problem").text(),
        engine=top.key("engine").text(),
        verdict=_read_verdict(verdict),
        certified=top.key("certified").truth(),
        arithmetic=top.key("arithmetic").text(),
        seed=top.key("seed").whole_number(),
        versions={name: node.text() for name, node in top.key("versions").fields().items()},
        inputs={name: node.digest() for name, node in top.key("inputs").fields().items()},
        seconds=top.key("seconds").seconds(),
        timings={name: node.seconds() for name, node in top.key("timings").fields().items()},
        notes=top.key("notes").texts(),
        source=top.key("source").table(),
        unchecked=_parse_certificate(top.key("unchecked")) if "unchecked" in data else None,
        witnesses=_read_witnesses(top) if "witnesses" in data else (),
    )
    words = top.key("property").text() if "property" in data else None
    statement = top.key("statement").texts() if "statement" in data else None
    answers = _read_thresholds(said)
    decisions = tuple(
        _read_annotations({"trace": entry.table()}, entry.place)
        for entry in (top.key("witnesses").entries() if result.witnesses else ())
    )
    return StoredResult(
        result, str(said["kind"]), _read_annotations(said), words, statement, answers, decisions
    )


def _read_thresholds(verdict: Mapping[str, Any]) -> tuple[str | None, ...]:
    rows = [row["verdict"] for row in verdict["table"]] if verdict["kind"] == "per-start" else []
    found = [one.get("threshold") for one in (verdict, *rows)]
    return tuple(None if t is None else _Node(t, "verdict.threshold").text() for t in found)


def verdict_from_json(data: object, where: str) -> Verdict:
    """A verdict inside another one, such as that of an end of a tipping point."""
    return _read_verdict(_Node(data, where))


def _read_verdict(data: _Node) -> Verdict:
    kind = data.key("kind").text()
    if kind not in _READERS:
        data.key("kind").fail(f"one of {', '.join(_READERS)}")
    if kind != "unknown" and "suspicion" in data.table():
        data.key("suspicion").fail("an `unknown` verdict around it")
    return _READERS[kind](data)


def _read_estimated(data: _Node) -> Verdict:
    low, high = _read_interval(data)
    confidence, stop = data.key("confidence").number(), data.text_of("stop")
    mean = None if (given := data.get_member("mean")) is None else given.number()
    counts = {name: node.count() for name, node in data.key("counts").fields().items()}
    law = data.get_member("starts")
    starts = "" if law is None else law.key("average_over").text()
    return Estimated(low, high, confidence, counts, stop, mean, starts)


def _read_found(data: _Node) -> Verdict:
    certificate = _read_certificate(data)
    return Found(data.key("artifact" if "artifact" in data.table() else "artifact_text").value, certificate)


def _read_per_start(data: _Node) -> Verdict:
    table = []
    for row in data.key("table").entries():
        start, verdict = row.key("start").state(), row.key("verdict")
        if verdict.table().get("kind") == "per-start":
            verdict.key("kind").fail("a verdict about one start")
        table.append((start, _read_verdict(verdict)))
    return PerStart(tuple(table), _read_certificate(data))


def _read_exact(data: _Node) -> Verdict:
    certificate = _read_certificate(data)
    low, high = (data.table().get(end) for end in ("low", "high"))
    if INFINITE not in (low, high):
        stop = data.text_of("stop")
        return Exact(*_read_interval(data), certificate, stop)
    if high != INFINITE:
        _Node(high, _join_path(data.place, "high")).fail(f"`{INFINITE}`, like `low`")
    return Exact(None if low == INFINITE else data.key("low").number(), None, certificate)


def _read_proved(data: _Node) -> Verdict:
    arithmetic = data.key("arithmetic").text()
    if arithmetic not in ("proved", "proved-real"):
        data.key("arithmetic").fail("`proved` or `proved-real`")
    return Proved(_parse_certificate(data.key("certificate")), arithmetic, _read_flowpipe(data))


def _read_unknown(data: _Node) -> Verdict:
    reasons = {r.value: r for r in Reason}
    if (reason := data.key("reason").text()) not in reasons:
        data.key("reason").fail(f"one of {', '.join(reasons)}")
    detail, by = data.key("detail").text(), data.key("uncertified_by").text()
    seen = _read_suspicion(data.key("suspicion")) if "suspicion" in data.table() else None
    beside = _read_flowpipe(data) if seen is None else seen
    return Unknown(reasons[reason], detail, data.key("holds_up_to").steps(), by, artifact=beside)


def _read_suspicion(data: _Node) -> SuspectedRun:
    """A run in continuous time that proves nothing; but a file does not say just anything."""
    time, error = data.key("time").real_number(), data.key("error").real_number()
    runs, method = data.key("runs").count(), data.key("method").text()
    times = tuple(entry.real_number() for entry in data.key("times").entries())
    states, controls = _read_points(data.key("states")), _read_points(data.key("controls"))
    if list(times) != sorted(times):
        data.key("times").fail("times in order")
    if not states or len(states) != len(times):
        data.key("states").fail("one state for each of `times`, and at least one")
    for name in sorted(set(data.table()) - _SUSPICION):
        data.key(name).fail("no such key")
    return SuspectedRun(times, states, controls, time, runs, method, error, {}, ())


def _read_points(data: _Node) -> tuple[dict[str, float], ...]:
    """Numbers by name, with the same names in all of them."""
    entries = data.entries()
    for entry in entries:
        if entry.table().keys() != entries[0].table().keys():
            entry.fail("the names of the first entry")
    return tuple({name: node.real_number() for name, node in entry.fields().items()} for entry in entries)


def _read_flowpipe(verdict: _Node) -> Flowpipe | None:
    """What was passed through, beside an answer."""
    data = verdict.get_member("flowpipe")
    if data is None:
        return None
    variables, quantities = data.key("variables").texts(), data.key("quantities").texts()
    unit = data.key("unit").text()
    if unit not in ("time", "step"):
        data.key("unit").fail("`time` or `step`")
    starts = tuple(_read_followed_starts(box, len(variables)) for box in data.key("starts").entries())
    width, pieces = len(variables) + len(quantities), list[FlowpipePiece]()
    for entry in data.key("pieces").entries():
        parts = entry.entries()
        if len(parts) != 5:
            entry.fail("begin, end, cell, least and greatest values")
        low, high, cell = parts[3].plain_floats(), parts[4].plain_floats(), parts[2].count()
        if len(low) != width or len(high) != width or cell >= len(starts):
            entry.fail("a box of the flowpipe")
        pieces.append(FlowpipePiece(parts[0].number(), parts[1].number(), cell, low, high))
    counts = data.key("cells")
    return Flowpipe(
        variables,
        quantities,
        "time" if unit == "time" else "step",
        starts,
        tuple(pieces),
        data.key("share").number(),
        data.optional_number("until"),
        (counts.key("done").count(), counts.key("open").count()),
        data.optional_number("horizon"),
    )


def _read_followed_starts(data: _Node, width: int) -> FollowedStarts:
    low, high = (tuple(e.number() for e in data.key(side).entries()) for side in ("low", "high"))
    state = data.key("state").text()
    if state not in ("done", "open", "mixed") or len(low) != width or len(high) != width:
        data.fail("a box of starts that is done, open or mixed")
    known: Literal["done", "open", "mixed"] = state  # type: ignore[assignment]
    return FollowedStarts(low, high, known, data.optional_number("until"), data.key("why").text())


_READERS: dict[str, Callable[[_Node], Verdict]] = {
    "proved": _read_proved,
    "violated": lambda data: Violated(
        _read_trace(data.key("trace")),
        _read_certificate(data),
        _read_suspicion(data.key("integrated")) if "integrated" in data.table() else None,
    ),
    "holds": lambda data: Holds(
        data.key("up_to").steps(),
        data.key("uncertified_by").text(),
        data.key("as_asked").truth(),
        data.text_of("how"),
    ),
    "estimated": _read_estimated,
    "exact": _read_exact,
    "found": _read_found,
    "per-start": _read_per_start,
    "vacuous": lambda data: Vacuous(data.key("why").text()),
    "unknown": _read_unknown,
}


def _read_interval(data: _Node) -> tuple[Fraction, Fraction]:
    low, high = data.key("low").number(), data.key("high").number()
    if low > high:
        data.key("low").fail("a number that is not above `high`")
    if "decimal" in data.table():
        said = data.key("decimal")
        rounded = [number_from_json(end, said.place) for end in round_ends_outward(low, high, DIGITS)]
        if [number_from_json(end, said.place) for end in said.values()] != rounded:
            said.fail(f"`low` and `high`, rounded outward to {DIGITS} digits")
    return low, high


def _read_certificate(verdict: _Node) -> Certificate | None:
    """The certificate beside an answer, if there is one."""
    found = verdict.get_member("certificate")
    return None if found is None else _parse_certificate(found)


def _parse_certificate(data: _Node) -> Certificate:
    content = data.key("content").table()
    if content.get("surefoot-certificate") == 1:  # compared with what would be written today
        with suppress(BadCertificate):
            content = translate_certificate(content)
    return Certificate(data.key("kind").text(), content)


def _read_trace(data: _Node) -> Trace:
    states = [state.state() for state in data.key("states").entries()]
    moves = [_read_move(move) for move in data.key("moves").entries()]
    if len(states) != len(moves) + 1:
        data.key("moves").fail(f"{max(len(states) - 1, 0)} moves between {len(states)} states")
    loop = data.key("loop").steps()
    if loop is not None and loop >= len(states):
        data.key("loop").fail("the number of a state")
    regions = data.key("recurrence").some_entries() if "recurrence" in data.table() else []
    times = [] if (found := data.get_member("times")) is None else [t.number() for t in found.entries()]
    if times and (len(times) != len(states) or any(a >= b for a, b in pairwise(times))):
        data.key("times").fail("the times of all states, one after the other")
    return Trace(tuple(states), tuple(moves), loop, tuple(map(_read_region, regions)), tuple(times))


def _read_witnesses(top: _Node) -> tuple[Trace, ...]:
    found = top.key("witnesses")
    if top.key("verdict").key("kind").value != "violated":
        found.fail("a `violated` verdict beside it")
    return tuple(_read_trace(entry) for entry in found.some_entries())


def _read_region(data: _Node) -> RecurrenceRegion:
    transition, outcomes = _read_transition(data)
    chosen = tuple((name, node.term()) for name, node in data.key("chosen").fields().items())
    return RecurrenceRegion(data.key("set").term(), transition, outcomes, chosen)


def _read_move(data: _Node) -> Move:
    return Move(*_read_transition(data), data.key("chosen").state())


def _read_transition(move: _Node) -> tuple[Transition, tuple[int, ...]]:
    """The transition that a move takes, and the outcomes of its edges."""
    edges = []
    for pair in move.key("edges").entries():
        if not isinstance(pair.value, list) or len(pair.value) != 2:
            pair.fail("a component and an edge")
        component, edge = pair.counts()
        edges.append((component, edge))
    label = move.key("label")
    action = None if label.value is None else label.text()
    return Transition(tuple(edges), action), move.key("outcomes").counts()


def _read_annotations(
    verdict: Mapping[str, Any], place: str = "verdict.trace"
) -> tuple[Annotation | None, ...]:
    trace = verdict.get("trace")
    if not isinstance(trace, dict) or "decisions" not in trace:
        return ()
    entries = _Node(trace, place).key("decisions").entries()
    return tuple(None if entry.value is None else _read_annotation(entry) for entry in entries)


def _read_annotation(entry: _Node) -> Annotation:
    seen, outputs = entry.key("observation").floats(), entry.key("outputs").floats()
    actions = entry.key("actions")
    labels = tuple(_Node(action, actions.place).text() for action in actions.values())
    return Annotation(seen, outputs, labels, entry.key("controls").state(), entry.key("stalled").truth())
