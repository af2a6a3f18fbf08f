"""From a result to JSON data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from surefoot.errors import InvalidProblem
from surefoot.formats.result_json.artifacts import artifact_data
from surefoot.formats.result_json.read import SCHEMA, Annotation
from surefoot.formats.result_json.values import (
    DIGITS,
    INFINITE,
    bounds_text,
    exact_text,
    plain,
    rounded_outward,
    value_to,
)
from surefoot.problem.meaning.decision import observation
from surefoot.problem.policy import NeuralPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.semantics import Move, State, decision
from surefoot.problem.show import show, show_property
from surefoot.verdict.threshold import answer_threshold
from surefoot.verdict.verdict import (
    Certificate,
    Estimated,
    Exact,
    Found,
    Holds,
    PerStart,
    Proved,
    Region,
    Result,
    Trace,
    Unknown,
    Vacuous,
    Verdict,
    Violated,
)
from surefoot.verdict.words import statement


def to_json(problem: Problem, result: Result) -> dict[str, Any]:
    """The result as JSON data; a trace is shown with what the policy saw and decided in each state."""
    notes = annotate(problem, result.verdict.trace) if isinstance(result.verdict, Violated) else ()
    words = {"property": show_property(problem.property)}
    data = result_to_json(result, notes) | words | {"statement": list(statement(problem, result.verdict))}
    if (answer := answer_threshold(problem.property, result.verdict)) is not None:
        data["verdict"]["threshold"] = answer
        if isinstance(result.verdict, PerStart):
            for row, (_, verdict) in zip(data["verdict"]["table"], result.verdict.table, strict=True):
                row["verdict"]["threshold"] = answer_threshold(problem.property, verdict)
    return data


def annotate(problem: Problem, trace: Trace) -> tuple[Annotation | None, ...]:
    """What the policy saw and decided in each state of a trace; None where it has no decision."""
    return tuple(_annotation(problem, state) for state in trace.states)


def _annotation(problem: Problem, state: State) -> Annotation | None:
    try:
        made = decision(problem, state)
        if made is None:
            return None
        seen: tuple[float, ...] = ()
        if isinstance(problem.policy, NeuralPolicy):
            seen = tuple(float(v) for v in observation(problem.policy, problem.environment, state))
    except InvalidProblem:  # the trace is shown all the same; whether it replays is decided elsewhere
        return None
    return Annotation(seen, made.outputs or (), tuple(made.actions), dict(made.controls), made.stalls)


def result_to_json(result: Result, annotations: Sequence[Annotation | None] = ()) -> dict[str, Any]:
    """The result as JSON data, with annotations (one per state) if its verdict is a trace."""
    verdict = _verdict(result.verdict)
    if annotations and isinstance(result.verdict, Violated):
        verdict["trace"]["decisions"] = [None if a is None else _decision(a) for a in annotations]
    return {
        "schema": SCHEMA,
        "problem": result.problem,
        "engine": result.engine,
        "verdict": verdict,
        "certified": result.certified,
        "arithmetic": result.arithmetic,
        "seed": result.seed,
        "versions": dict(result.versions),
        "inputs": dict(result.inputs),
        "seconds": result.seconds,
        "timings": dict(result.timings),
        "notes": list(result.notes),
        "source": plain(result.source),
    }


def _verdict(verdict: Verdict) -> dict[str, Any]:
    beside = verdict.artifact if isinstance(verdict, Proved | Violated | Holds | Unknown) else None
    return _answer(verdict) | ({} if beside is None else artifact_data(beside, _verdict))


def _answer(verdict: Verdict) -> dict[str, Any]:
    match verdict:
        case Proved(certificate, arithmetic):
            return {"kind": "proved", "arithmetic": arithmetic, "certificate": _certificate(certificate)}
        case Violated(trace, certificate):
            more = {} if certificate is None else {"certificate": _certificate(certificate)}
            return {"kind": "violated", "trace": _trace(trace), **more}
        case Holds(up_to, by, as_asked, how):
            return {"kind": "holds", "up_to": up_to, "uncertified_by": by, "as_asked": as_asked, "how": how}
        case Estimated(low, high, confidence, counts, stop, mean):
            evidence = {"confidence": exact_text(confidence), "counts": dict(counts)}
            why = {"stop": stop} if stop else {}
            middle = {} if mean is None else {"mean": exact_text(mean)}
            return {"kind": "estimated", **_interval(low, high), **evidence, **why, **middle}
        case Exact(low, high, certificate, stop):
            why = {"stop": stop} if stop else {}
            return {"kind": "exact", **_interval(low, high), "certificate": _certificate(certificate), **why}
        case Found(artifact, certificate):
            return {
                "kind": "found",
                **artifact_data(artifact, _verdict),
                "certificate": _certificate(certificate),
            }
        case PerStart(table, certificate):
            rows = [{"start": _state(start), "verdict": _verdict(v)} for start, v in table]
            return {"kind": "per-start", "table": rows, "certificate": _certificate(certificate)}
        case Vacuous(why):
            return {"kind": "vacuous", "why": why}
        case Unknown(reason, detail, holds_up_to, by):
            known = {"holds_up_to": holds_up_to, "uncertified_by": by}
            return {"kind": "unknown", "reason": reason.value, "detail": detail, **known}


def _interval(low: Any, high: Any) -> dict[str, Any]:
    if low is None or high is None:
        below = INFINITE if low is None else bounds_text(low, low)[0]
        return {"low": below, "high": INFINITE if high is None else bounds_text(high, high)[1]}
    below, above = bounds_text(low, high)
    return {"low": below, "high": above, "decimal": list(rounded_outward(low, high, DIGITS))}


def _certificate(certificate: Certificate | None) -> dict[str, Any] | None:
    if certificate is None:
        return None
    return {"kind": certificate.kind, "content": plain(certificate.content)}


def _trace(trace: Trace) -> dict[str, Any]:
    states, moves = [_state(s) for s in trace.states], [_move(m) for m in trace.moves]
    endless = {"recurrence": [_region(r) for r in trace.recurrence]} if trace.recurrence else {}
    return {"states": states, "moves": moves, "loop": trace.loop, **endless}


def _region(region: Region) -> dict[str, Any]:
    return {
        "set": show(region.where),
        "edges": [list(edge) for edge in region.transition.edges],
        "label": region.transition.label,
        "outcomes": list(region.outcomes),
        "chosen": {name: show(term) for name, term in region.chosen},
    }


def _state(state: State) -> dict[str, Any]:
    return {name: value_to(value) for name, value in state.items()}


def _move(move: Move) -> dict[str, Any]:
    return {
        "edges": [list(edge) for edge in move.transition.edges],
        "label": move.transition.label,
        "outcomes": list(move.outcomes),
        "chosen": _state(move.chosen),
    }


def _decision(annotation: Annotation) -> Mapping[str, Any]:
    return {
        "observation": [value_to(v) for v in annotation.observation],
        "outputs": [value_to(v) for v in annotation.outputs],
        "actions": list(annotation.actions),
        "controls": _state(annotation.controls),
        "stalled": annotation.stalled,
    }
