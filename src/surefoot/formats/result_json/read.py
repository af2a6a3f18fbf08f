"""Reading a result back, as `surefoot certify` does: every key is checked, errors name the path to it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from surefoot.errors import InvalidProblem
from surefoot.formats.result_json.values import (
    DIGITS,
    INFINITE,
    float_from,
    number_from,
    rounded_outward,
    value_from,
    wrong,
)
from surefoot.problem.meaning.transition import Transition
from surefoot.problem.parse import parse_term
from surefoot.problem.semantics import Move, State
from surefoot.problem.term import Term
from surefoot.verdict.verdict import (
    Certificate,
    Estimated,
    Exact,
    Found,
    Holds,
    PerStart,
    Proved,
    Reason,
    Region,
    Result,
    Trace,
    Unknown,
    Vacuous,
    Verdict,
    Violated,
)

SCHEMA = 1
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


def from_json(data: object) -> StoredResult:
    """The result that `to_json` wrote; anything else is refused in one line."""
    top = _object(data, "result")
    if _get(top, "schema", "") != SCHEMA:
        raise wrong("schema", f"{SCHEMA}, the only version of this format so far")
    verdict = _object(_get(top, "verdict", ""), "verdict")
    result = Result(
        problem=_text(top, "problem", ""),
        engine=_text(top, "engine", ""),
        verdict=_verdict(verdict, "verdict"),
        certified=_truth(top, "certified", ""),
        arithmetic=_text(top, "arithmetic", ""),
        seed=_seed(_get(top, "seed", ""), "seed"),
        versions=_mapping(top, "versions", "", _is_text),
        inputs=_mapping(top, "inputs", "", _is_digest),
        seconds=_seconds(_get(top, "seconds", ""), "seconds"),
        timings=_mapping(top, "timings", "", _seconds),
        notes=tuple(_texts(top, "notes", "")),
        source=_object(_get(top, "source", ""), "source"),
    )
    words = None if "property" not in top else _text(top, "property", "")
    said = None if "statement" not in top else tuple(_texts(top, "statement", ""))
    answers = _thresholds(verdict)
    return StoredResult(result, str(verdict["kind"]), _annotations(verdict), words, said, answers)


def _thresholds(verdict: Mapping[str, Any]) -> tuple[str | None, ...]:
    rows = [row["verdict"] for row in verdict["table"]] if verdict["kind"] == "per-start" else []
    found = [one.get("threshold") for one in (verdict, *rows)]
    return tuple(None if t is None else _is_text(t, "verdict.threshold") for t in found)


def verdict_from(data: object, where: str) -> Verdict:
    """A verdict inside another one, such as that of an end of a tipping point."""
    return _verdict(_object(data, where), where)


def _verdict(data: Mapping[str, Any], where: str) -> Verdict:
    kind = _text(data, "kind", where)
    if kind not in _READERS:
        raise wrong(_join(where, "kind"), f"one of {', '.join(_READERS)}")
    return _READERS[kind](data, where)


def _estimated(data: Mapping[str, Any], where: str) -> Verdict:
    low, high = _interval(data, where)
    confidence = Fraction(number_from(_get(data, "confidence", where), _join(where, "confidence")))
    stop = _is_text(data.get("stop", ""), _join(where, "stop"))
    given = data.get("mean")
    mean = None if given is None else Fraction(number_from(given, _join(where, "mean")))
    return Estimated(low, high, confidence, _mapping(data, "counts", where, _is_whole), stop, mean)


def _found(data: Mapping[str, Any], where: str) -> Verdict:
    key = "artifact" if "artifact" in data else "artifact_text"
    certificate = None if data.get("certificate") is None else _certificate(data, where)
    return Found(_get(data, key, where), certificate)


def _per_start(data: Mapping[str, Any], where: str) -> Verdict:
    table = []
    for i, row in enumerate(_list(data, "table", where)):
        place = f"{_join(where, 'table')}[{i}]"
        cells = _object(row, place)
        start = _state(_get(cells, "start", place), _join(place, "start"))
        inner = _object(_get(cells, "verdict", place), _join(place, "verdict"))
        if inner.get("kind") == "per-start":
            raise wrong(_join(place, "verdict.kind"), "a verdict about one start")
        table.append((start, _verdict(inner, _join(place, "verdict"))))
    certificate = None if data.get("certificate") is None else _certificate(data, where)
    return PerStart(tuple(table), certificate)


def _exact(data: Mapping[str, Any], where: str) -> Verdict:
    certificate = None if data.get("certificate") is None else _certificate(data, where)
    if INFINITE not in (data.get("low"), data.get("high")):
        stop = _is_text(data.get("stop", ""), _join(where, "stop"))
        return Exact(*_interval(data, where), certificate, stop)
    if data.get("high") != INFINITE:
        raise wrong(_join(where, "high"), f"`{INFINITE}`, like `low`")
    if data.get("low") == INFINITE:
        return Exact(None, None, certificate)
    return Exact(Fraction(number_from(_get(data, "low", where), _join(where, "low"))), None, certificate)


def _proved(data: Mapping[str, Any], where: str) -> Verdict:
    if (arithmetic := _text(data, "arithmetic", where)) not in ("proved", "proved-real"):
        raise wrong(_join(where, "arithmetic"), "`proved` or `proved-real`")
    return Proved(_certificate(data, where), arithmetic)


def _unknown(data: Mapping[str, Any], where: str) -> Verdict:
    reasons = {r.value: r for r in Reason}
    if (reason := _text(data, "reason", where)) not in reasons:
        raise wrong(_join(where, "reason"), f"one of {', '.join(reasons)}")
    detail, by = _text(data, "detail", where), _text(data, "uncertified_by", where)
    return Unknown(reasons[reason], detail, _steps(data, "holds_up_to", where), by)


_READERS: dict[str, Callable[[Mapping[str, Any], str], Verdict]] = {
    "proved": _proved,
    "violated": lambda d, w: Violated(
        _trace(d, w), _certificate(d, w) if d.get("certificate") is not None else None
    ),
    "holds": lambda d, w: Holds(
        _steps(d, "up_to", w),
        _text(d, "uncertified_by", w),
        _truth(d, "as_asked", w),
        _is_text(d.get("how", ""), _join(w, "how")),
    ),
    "estimated": _estimated,
    "exact": _exact,
    "found": _found,
    "per-start": _per_start,
    "vacuous": lambda d, w: Vacuous(_text(d, "why", w)),
    "unknown": _unknown,
}


def _interval(data: Mapping[str, Any], where: str) -> tuple[Fraction, Fraction]:
    low, high = (Fraction(number_from(_get(data, k, where), _join(where, k))) for k in ("low", "high"))
    if low > high:
        raise wrong(_join(where, "low"), "a number that is not above `high`")
    if "decimal" in data:
        place = _join(where, "decimal")
        said = [number_from(end, place) for end in _list(data, "decimal", where)]
        if said != [number_from(end, place) for end in rounded_outward(low, high, DIGITS)]:
            raise wrong(place, f"`low` and `high`, rounded outward to {DIGITS} digits")
    return low, high


def _certificate(data: Mapping[str, Any], where: str) -> Certificate:
    place = _join(where, "certificate")
    inner = _object(_get(data, "certificate", where), place)
    content = _object(_get(inner, "content", place), _join(place, "content"))
    return Certificate(_text(inner, "kind", place), content)


def _trace(verdict: Mapping[str, Any], outer: str) -> Trace:
    where = _join(outer, "trace")
    data = _object(_get(verdict, "trace", outer), where)
    states = [_state(s, f"{_join(where, 'states')}[{i}]") for i, s in enumerate(_list(data, "states", where))]
    moves = [_move(m, f"{_join(where, 'moves')}[{i}]") for i, m in enumerate(_list(data, "moves", where))]
    if len(states) != len(moves) + 1:
        raise wrong(_join(where, "moves"), f"{max(len(states) - 1, 0)} moves between {len(states)} states")
    loop = _steps(data, "loop", where)
    if loop is not None and loop >= len(states):
        raise wrong(_join(where, "loop"), "the number of a state")
    regions = () if data.get("recurrence") is None else tuple(_list(data, "recurrence", where))
    place = _join(where, "recurrence")
    return Trace(
        tuple(states), tuple(moves), loop, tuple(_region(r, f"{place}[{i}]") for i, r in enumerate(regions))
    )


def _region(data: object, where: str) -> Region:
    region = _object(data, where)
    transition, outcomes = _taken(region, where)
    chosen = _mapping(region, "chosen", where, _term)
    found = _term(_get(region, "set", where), _join(where, "set"))
    return Region(found, transition, outcomes, tuple(chosen.items()))


def _term(data: object, where: str) -> Term:
    try:
        return parse_term(_is_text(data, where))
    except InvalidProblem as error:
        raise wrong(where, f"a term ({error})") from None


def _state(data: object, where: str) -> State:
    return {name: value_from(value, _join(where, name)) for name, value in _object(data, where).items()}


def _move(data: object, where: str) -> Move:
    move = _object(data, where)
    return Move(*_taken(move, where), _state(_get(move, "chosen", where), _join(where, "chosen")))


def _taken(move: Mapping[str, Any], where: str) -> tuple[Transition, tuple[int, ...]]:
    """The transition that a move takes, and the outcomes of its edges."""
    edges = []
    for i, pair in enumerate(_list(move, "edges", where)):
        place = f"{_join(where, 'edges')}[{i}]"
        if not isinstance(pair, list) or len(pair) != 2:
            raise wrong(place, "a component and an edge")
        edges.append((_is_whole(pair[0], place), _is_whole(pair[1], place)))
    label = _get(move, "label", where)
    if label is not None:
        _is_text(label, _join(where, "label"))
    outcomes = tuple(_is_whole(o, _join(where, "outcomes")) for o in _list(move, "outcomes", where))
    return Transition(tuple(edges), label), outcomes


def _annotations(verdict: Mapping[str, Any]) -> tuple[Annotation | None, ...]:
    trace = verdict.get("trace")
    if not isinstance(trace, dict) or "decisions" not in trace:
        return ()
    where = "verdict.trace.decisions"
    entries = _list(trace, "decisions", "verdict.trace")
    return tuple(None if d is None else _annotation(d, f"{where}[{i}]") for i, d in enumerate(entries))


def _annotation(data: object, where: str) -> Annotation:
    entry = _object(data, where)

    def floats(key: str) -> tuple[float, ...]:
        return tuple(float_from(v, _join(where, key)) for v in _list(entry, key, where))

    return Annotation(
        observation=floats("observation"),
        outputs=floats("outputs"),
        actions=tuple(_is_text(a, _join(where, "actions")) for a in _list(entry, "actions", where)),
        controls=_state(_get(entry, "controls", where), _join(where, "controls")),
        stalled=_truth(entry, "stalled", where),
    )


def _join(where: str, key: str) -> str:
    """The path to a key; names from the file are kept short and on one line."""
    short = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in key[:80])
    return f"{where}.{short}" if where else short


def _get(data: Mapping[str, Any], key: str, where: str) -> Any:
    if key not in data:
        raise wrong(_join(where, key), "this key")
    return data[key]


def _object(data: object, where: str) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise wrong(where, "an object")
    return data


def _list(data: Mapping[str, Any], key: str, where: str) -> list[Any]:
    value = _get(data, key, where)
    if not isinstance(value, list):
        raise wrong(_join(where, key), "a list")
    return value


def _texts(data: Mapping[str, Any], key: str, where: str) -> list[str]:
    place = _join(where, key)
    return [_is_text(v, f"{place}[{i}]") for i, v in enumerate(_list(data, key, where))]


def _is_text(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise wrong(where, "a text")
    return value


def _is_whole(value: object, where: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise wrong(where, "a whole number, not negative")
    return value


def _is_digest(value: object, where: str) -> str:
    if not isinstance(value, str) or not _DIGEST.match(value):
        raise wrong(where, "a SHA-256 digest")
    return value


def _seconds(value: object, where: str) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value) or value < 0:
        raise wrong(where, "a number of seconds")
    return float(value)


def _mapping(
    data: Mapping[str, Any], key: str, where: str, check: Callable[[object, str], Any]
) -> dict[str, Any]:
    place = _join(where, key)
    return {k: check(v, _join(place, k)) for k, v in _object(_get(data, key, where), place).items()}


def _text(data: Mapping[str, Any], key: str, where: str) -> str:
    return _is_text(_get(data, key, where), _join(where, key))


def _seed(value: object, where: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise wrong(where, "a whole number")
    return value


def _steps(data: Mapping[str, Any], key: str, where: str) -> int | None:
    value = _get(data, key, where)
    return None if value is None else _is_whole(value, _join(where, key))


def _truth(data: Mapping[str, Any], key: str, where: str) -> bool:
    value = _get(data, key, where)
    if not isinstance(value, bool):
        raise wrong(_join(where, key), "true or false")
    return value
