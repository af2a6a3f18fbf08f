"""Reading a result back, as `surefoot certify` does: every key is checked, errors name the path to it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

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


def result_from_json(data: object) -> StoredResult:
    """The result that `to_json` wrote; anything else is refused in one line."""
    top = _require_object(data, "result")
    if _require_key(top, "schema", "") != SCHEMA:
        raise result_format_error("schema", f"{SCHEMA}, the only version of this format so far")
    verdict = _require_object(_require_key(top, "verdict", ""), "verdict")
    result = Result(
        problem=_require_text(top, "problem", ""),
        engine=_require_text(top, "engine", ""),
        verdict=_read_verdict(verdict, "verdict"),
        certified=_require_truth(top, "certified", ""),
        arithmetic=_require_text(top, "arithmetic", ""),
        seed=_check_seed(_require_key(top, "seed", ""), "seed"),
        versions=_read_mapping(top, "versions", "", _check_text),
        inputs=_read_mapping(top, "inputs", "", _check_digest),
        seconds=_check_seconds(_require_key(top, "seconds", ""), "seconds"),
        timings=_read_mapping(top, "timings", "", _check_seconds),
        notes=tuple(_require_texts(top, "notes", "")),
        source=_require_object(_require_key(top, "source", ""), "source"),
    )
    words = None if "property" not in top else _require_text(top, "property", "")
    said = None if "statement" not in top else tuple(_require_texts(top, "statement", ""))
    answers = _read_thresholds(verdict)
    return StoredResult(result, str(verdict["kind"]), _read_annotations(verdict), words, said, answers)


def _read_thresholds(verdict: Mapping[str, Any]) -> tuple[str | None, ...]:
    rows = [row["verdict"] for row in verdict["table"]] if verdict["kind"] == "per-start" else []
    found = [one.get("threshold") for one in (verdict, *rows)]
    return tuple(None if t is None else _check_text(t, "verdict.threshold") for t in found)


def verdict_from_json(data: object, where: str) -> Verdict:
    """A verdict inside another one, such as that of an end of a tipping point."""
    return _read_verdict(_require_object(data, where), where)


def _read_verdict(data: Mapping[str, Any], where: str) -> Verdict:
    kind = _require_text(data, "kind", where)
    if kind not in _READERS:
        raise result_format_error(_join_path(where, "kind"), f"one of {', '.join(_READERS)}")
    return _READERS[kind](data, where)


def _read_estimated(data: Mapping[str, Any], where: str) -> Verdict:
    low, high = _read_interval(data, where)
    confidence = Fraction(
        number_from_json(_require_key(data, "confidence", where), _join_path(where, "confidence"))
    )
    stop = _check_text(data.get("stop", ""), _join_path(where, "stop"))
    given = data.get("mean")
    mean = None if given is None else Fraction(number_from_json(given, _join_path(where, "mean")))
    return Estimated(low, high, confidence, _read_mapping(data, "counts", where, _check_count), stop, mean)


def _read_found(data: Mapping[str, Any], where: str) -> Verdict:
    key = "artifact" if "artifact" in data else "artifact_text"
    certificate = None if data.get("certificate") is None else _read_certificate(data, where)
    return Found(_require_key(data, key, where), certificate)


def _read_per_start(data: Mapping[str, Any], where: str) -> Verdict:
    table = []
    for i, row in enumerate(_require_list(data, "table", where)):
        place = f"{_join_path(where, 'table')}[{i}]"
        cells = _require_object(row, place)
        start = _read_state(_require_key(cells, "start", place), _join_path(place, "start"))
        inner = _require_object(_require_key(cells, "verdict", place), _join_path(place, "verdict"))
        if inner.get("kind") == "per-start":
            raise result_format_error(_join_path(place, "verdict.kind"), "a verdict about one start")
        table.append((start, _read_verdict(inner, _join_path(place, "verdict"))))
    certificate = None if data.get("certificate") is None else _read_certificate(data, where)
    return PerStart(tuple(table), certificate)


def _read_exact(data: Mapping[str, Any], where: str) -> Verdict:
    certificate = None if data.get("certificate") is None else _read_certificate(data, where)
    if INFINITE not in (data.get("low"), data.get("high")):
        stop = _check_text(data.get("stop", ""), _join_path(where, "stop"))
        return Exact(*_read_interval(data, where), certificate, stop)
    if data.get("high") != INFINITE:
        raise result_format_error(_join_path(where, "high"), f"`{INFINITE}`, like `low`")
    if data.get("low") == INFINITE:
        return Exact(None, None, certificate)
    return Exact(
        Fraction(number_from_json(_require_key(data, "low", where), _join_path(where, "low"))),
        None,
        certificate,
    )


def _read_proved(data: Mapping[str, Any], where: str) -> Verdict:
    if (arithmetic := _require_text(data, "arithmetic", where)) not in ("proved", "proved-real"):
        raise result_format_error(_join_path(where, "arithmetic"), "`proved` or `proved-real`")
    return Proved(_read_certificate(data, where), arithmetic)


def _read_unknown(data: Mapping[str, Any], where: str) -> Verdict:
    reasons = {r.value: r for r in Reason}
    if (reason := _require_text(data, "reason", where)) not in reasons:
        raise result_format_error(_join_path(where, "reason"), f"one of {', '.join(reasons)}")
    detail, by = _require_text(data, "detail", where), _require_text(data, "uncertified_by", where)
    return Unknown(reasons[reason], detail, _read_steps(data, "holds_up_to", where), by)


_READERS: dict[str, Callable[[Mapping[str, Any], str], Verdict]] = {
    "proved": _read_proved,
    "violated": lambda d, w: Violated(
        _read_trace(d, w), _read_certificate(d, w) if d.get("certificate") is not None else None
    ),
    "holds": lambda d, w: Holds(
        _read_steps(d, "up_to", w),
        _require_text(d, "uncertified_by", w),
        _require_truth(d, "as_asked", w),
        _check_text(d.get("how", ""), _join_path(w, "how")),
    ),
    "estimated": _read_estimated,
    "exact": _read_exact,
    "found": _read_found,
    "per-start": _read_per_start,
    "vacuous": lambda d, w: Vacuous(_require_text(d, "why", w)),
    "unknown": _read_unknown,
}


def _read_interval(data: Mapping[str, Any], where: str) -> tuple[Fraction, Fraction]:
    low, high = (
        Fraction(number_from_json(_require_key(data, k, where), _join_path(where, k)))
        for k in ("low", "high")
    )
    if low > high:
        raise result_format_error(_join_path(where, "low"), "a number that is not above `high`")
    if "decimal" in data:
        place = _join_path(where, "decimal")
        said = [number_from_json(end, place) for end in _require_list(data, "decimal", where)]
        if said != [number_from_json(end, place) for end in round_ends_outward(low, high, DIGITS)]:
            raise result_format_error(place, f"`low` and `high`, rounded outward to {DIGITS} digits")
    return low, high


def _read_certificate(data: Mapping[str, Any], where: str) -> Certificate:
    place = _join_path(where, "certificate")
    inner = _require_object(_require_key(data, "certificate", where), place)
    content = _require_object(_require_key(inner, "content", place), _join_path(place, "content"))
    if content.get("surefoot-certificate") == 1:  # compared with what would be written today
        with suppress(BadCertificate):
            content = translate_certificate(content)
    return Certificate(_require_text(inner, "kind", place), content)


def _read_trace(verdict: Mapping[str, Any], outer: str) -> Trace:
    where = _join_path(outer, "trace")
    data = _require_object(_require_key(verdict, "trace", outer), where)
    states = [
        _read_state(s, f"{_join_path(where, 'states')}[{i}]")
        for i, s in enumerate(_require_list(data, "states", where))
    ]
    moves = [
        _read_move(m, f"{_join_path(where, 'moves')}[{i}]")
        for i, m in enumerate(_require_list(data, "moves", where))
    ]
    if len(states) != len(moves) + 1:
        raise result_format_error(
            _join_path(where, "moves"), f"{max(len(states) - 1, 0)} moves between {len(states)} states"
        )
    loop = _read_steps(data, "loop", where)
    if loop is not None and loop >= len(states):
        raise result_format_error(_join_path(where, "loop"), "the number of a state")
    regions = () if data.get("recurrence") is None else tuple(_require_list(data, "recurrence", where))
    place = _join_path(where, "recurrence")
    return Trace(
        tuple(states),
        tuple(moves),
        loop,
        tuple(_read_region(r, f"{place}[{i}]") for i, r in enumerate(regions)),
    )


def _read_region(data: object, where: str) -> RecurrenceRegion:
    region = _require_object(data, where)
    transition, outcomes = _read_transition(region, where)
    chosen = _read_mapping(region, "chosen", where, _read_term)
    found = _read_term(_require_key(region, "set", where), _join_path(where, "set"))
    return RecurrenceRegion(found, transition, outcomes, tuple(chosen.items()))


def _read_term(data: object, where: str) -> Term:
    try:
        return parse_term(_check_text(data, where))
    except InvalidProblem as error:
        raise result_format_error(where, f"a term ({error})") from None


def _read_state(data: object, where: str) -> State:
    return {
        name: value_from_json(value, _join_path(where, name))
        for name, value in _require_object(data, where).items()
    }


def _read_move(data: object, where: str) -> Move:
    move = _require_object(data, where)
    return Move(
        *_read_transition(move, where),
        _read_state(_require_key(move, "chosen", where), _join_path(where, "chosen")),
    )


def _read_transition(move: Mapping[str, Any], where: str) -> tuple[Transition, tuple[int, ...]]:
    """The transition that a move takes, and the outcomes of its edges."""
    edges = []
    for i, pair in enumerate(_require_list(move, "edges", where)):
        place = f"{_join_path(where, 'edges')}[{i}]"
        if not isinstance(pair, list) or len(pair) != 2:
            raise result_format_error(place, "a component and an edge")
        edges.append((_check_count(pair[0], place), _check_count(pair[1], place)))
    label = _require_key(move, "label", where)
    if label is not None:
        _check_text(label, _join_path(where, "label"))
    outcomes = tuple(
        _check_count(o, _join_path(where, "outcomes")) for o in _require_list(move, "outcomes", where)
    )
    return Transition(tuple(edges), label), outcomes


def _read_annotations(verdict: Mapping[str, Any]) -> tuple[Annotation | None, ...]:
    trace = verdict.get("trace")
    if not isinstance(trace, dict) or "decisions" not in trace:
        return ()
    where = "verdict.trace.decisions"
    entries = _require_list(trace, "decisions", "verdict.trace")
    return tuple(None if d is None else _read_annotation(d, f"{where}[{i}]") for i, d in enumerate(entries))


def _read_annotation(data: object, where: str) -> Annotation:
    entry = _require_object(data, where)

    def floats(key: str) -> tuple[float, ...]:
        return tuple(float_from_json(v, _join_path(where, key)) for v in _require_list(entry, key, where))

    return Annotation(
        observation=floats("observation"),
        outputs=floats("outputs"),
        actions=tuple(
            _check_text(a, _join_path(where, "actions")) for a in _require_list(entry, "actions", where)
        ),
        controls=_read_state(_require_key(entry, "controls", where), _join_path(where, "controls")),
        stalled=_require_truth(entry, "stalled", where),
    )


def _join_path(where: str, key: str) -> str:
    """The path to a key; names from the file are kept short and on one line."""
    short = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in key[:80])
    return f"{where}.{short}" if where else short


def _require_key(data: Mapping[str, Any], key: str, where: str) -> Any:
    if key not in data:
        raise result_format_error(_join_path(where, key), "this key")
    return data[key]


def _require_object(data: object, where: str) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise result_format_error(where, "an object")
    return data


def _require_list(data: Mapping[str, Any], key: str, where: str) -> list[Any]:
    value = _require_key(data, key, where)
    if not isinstance(value, list):
        raise result_format_error(_join_path(where, key), "a list")
    return value


def _require_texts(data: Mapping[str, Any], key: str, where: str) -> list[str]:
    place = _join_path(where, key)
    return [_check_text(v, f"{place}[{i}]") for i, v in enumerate(_require_list(data, key, where))]


def _check_text(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise result_format_error(where, "a text")
    return value


def _check_count(value: object, where: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise result_format_error(where, "a whole number, not negative")
    return value


def _check_digest(value: object, where: str) -> str:
    if not isinstance(value, str) or not _DIGEST.match(value):
        raise result_format_error(where, "a SHA-256 digest")
    return value


def _check_seconds(value: object, where: str) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value) or value < 0:
        raise result_format_error(where, "a number of seconds")
    return float(value)


def _read_mapping(
    data: Mapping[str, Any], key: str, where: str, check: Callable[[object, str], Any]
) -> dict[str, Any]:
    place = _join_path(where, key)
    return {
        k: check(v, _join_path(place, k))
        for k, v in _require_object(_require_key(data, key, where), place).items()
    }


def _require_text(data: Mapping[str, Any], key: str, where: str) -> str:
    return _check_text(_require_key(data, key, where), _join_path(where, key))


def _check_seed(value: object, where: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise result_format_error(where, "a whole number")
    return value


def _read_steps(data: Mapping[str, Any], key: str, where: str) -> int | None:
    value = _require_key(data, key, where)
    return None if value is None else _check_count(value, _join_path(where, key))


def _require_truth(data: Mapping[str, Any], key: str, where: str) -> bool:
    value = _require_key(data, key, where)
    if not isinstance(value, bool):
        raise result_format_error(_join_path(where, key), "true or false")
    return value
