"""From a result to JSON data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from surefoot.errors import InvalidProblem
from surefoot.formats.result_json.artifacts import artifact_to_json
from surefoot.formats.result_json.exact_numbers import (
    DIGITS,
    INFINITE,
    bounds_text,
    exact_text,
    normalise_json,
    round_ends_outward,
    value_to_json,
)
from surefoot.formats.result_json.read import SCHEMA, Annotation
from surefoot.problem.meaning.decision import observation_vector
from surefoot.problem.policy import NeuralPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property_printer import show_property
from surefoot.problem.semantics import Move, State, policy_decision
from surefoot.term.printer import show_term
from surefoot.verdict.sentences import verdict_sentences
from surefoot.verdict.threshold import answer_threshold
from surefoot.verdict.verdict import (
    Certificate,
    Estimated,
    Exact,
    Found,
    Holds,
    PerStart,
    Proved,
    RecurrenceRegion,
    Result,
    Trace,
    Unknown,
    Vacuous,
    Verdict,
    Violated,
)


def annotated_result_to_json(problem: Problem, result: Result) -> dict[str, Any]:
    """The result as JSON data; a trace is shown with what the policy saw and decided in each state."""
    notes = annotate_trace(problem, result.verdict.trace) if isinstance(result.verdict, Violated) else ()
    words = {"property": show_property(problem.property)}
    data = (
        result_to_json(result, notes)
        | words
        | {"statement": list(verdict_sentences(problem, result.verdict))}
    )
    if (answer := answer_threshold(problem.property, result.verdict)) is not None:
        data["verdict"]["threshold"] = answer
        if isinstance(result.verdict, PerStart):
            for row, (_, verdict) in zip(data["verdict"]["table"], result.verdict.table, strict=True):
                row["verdict"]["threshold"] = answer_threshold(problem.property, verdict)
    return data


def annotate_trace(problem: Problem, trace: Trace) -> tuple[Annotation | None, ...]:
    """What the policy saw and decided in each state of a trace; None where it has no decision."""
    return tuple(_annotate_state(problem, state) for state in trace.states)


def _annotate_state(problem: Problem, state: State) -> Annotation | None:
    try:
        made = policy_decision(problem, state)
        if made is None:
            return None
        seen: tuple[float, ...] = ()
        if isinstance(problem.policy, NeuralPolicy):
            seen = tuple(float(v) for v in observation_vector(problem.policy, problem.environment, state))
    except InvalidProblem:  # the trace is shown all the same; whether it replays is decided elsewhere
        return None
    return Annotation(seen, made.outputs or (), tuple(made.actions), dict(made.controls), made.stalls)


def result_to_json(result: Result, annotations: Sequence[Annotation | None] = ()) -> dict[str, Any]:
    """The result as JSON data, with annotations (one per state) if its verdict is a trace."""
    verdict = _verdict_to_json(result.verdict)
    if annotations and isinstance(result.verdict, Violated):
        verdict["trace"]["decisions"] = [None if a is None else _annotation_to_json(a) for a in annotations]
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
        "source": normalise_json(result.source),
    }


def _verdict_to_json(verdict: Verdict) -> dict[str, Any]:
    beside = verdict.artifact if isinstance(verdict, Proved | Violated | Holds | Unknown) else None
    return _answer_to_json(verdict) | ({} if beside is None else artifact_to_json(beside, _verdict_to_json))


def _answer_to_json(verdict: Verdict) -> dict[str, Any]:
    match verdict:
        case Proved(certificate, arithmetic):
            return {
                "kind": "proved",
                "arithmetic": arithmetic,
                "certificate": _certificate_to_json(certificate),
            }
        case Violated(trace, certificate):
            more = {} if certificate is None else {"certificate": _certificate_to_json(certificate)}
            return {"kind": "violated", "trace": _trace_to_json(trace), **more}
        case Holds(up_to, by, as_asked, how):
            return {"kind": "holds", "up_to": up_to, "uncertified_by": by, "as_asked": as_asked, "how": how}
        case Estimated(low, high, confidence, counts, stop, mean):
            evidence = {"confidence": exact_text(confidence), "counts": dict(counts)}
            why = {"stop": stop} if stop else {}
            middle = {} if mean is None else {"mean": exact_text(mean)}
            return {"kind": "estimated", **_interval_to_json(low, high), **evidence, **why, **middle}
        case Exact(low, high, certificate, stop):
            why = {"stop": stop} if stop else {}
            return {
                "kind": "exact",
                **_interval_to_json(low, high),
                "certificate": _certificate_to_json(certificate),
                **why,
            }
        case Found(artifact, certificate):
            return {
                "kind": "found",
                **artifact_to_json(artifact, _verdict_to_json),
                "certificate": _certificate_to_json(certificate),
            }
        case PerStart(table, certificate):
            rows = [{"start": _state_to_json(start), "verdict": _verdict_to_json(v)} for start, v in table]
            return {"kind": "per-start", "table": rows, "certificate": _certificate_to_json(certificate)}
        case Vacuous(why):
            return {"kind": "vacuous", "why": why}
        case Unknown(reason, detail, holds_up_to, by):
            known = {"holds_up_to": holds_up_to, "uncertified_by": by}
            return {"kind": "unknown", "reason": reason.value, "detail": detail, **known}


def _interval_to_json(low: Any, high: Any) -> dict[str, Any]:
    if low is None or high is None:
        below = INFINITE if low is None else bounds_text(low, low)[0]
        return {"low": below, "high": INFINITE if high is None else bounds_text(high, high)[1]}
    below, above = bounds_text(low, high)
    return {"low": below, "high": above, "decimal": list(round_ends_outward(low, high, DIGITS))}


def _certificate_to_json(certificate: Certificate | None) -> dict[str, Any] | None:
    if certificate is None:
        return None
    return {"kind": certificate.kind, "content": normalise_json(certificate.content)}


def _trace_to_json(trace: Trace) -> dict[str, Any]:
    states, moves = [_state_to_json(s) for s in trace.states], [_move_to_json(m) for m in trace.moves]
    endless = {"recurrence": [_region_to_json(r) for r in trace.recurrence]} if trace.recurrence else {}
    return {"states": states, "moves": moves, "loop": trace.loop, **endless}


def _region_to_json(region: RecurrenceRegion) -> dict[str, Any]:
    return {
        "set": show_term(region.where),
        "edges": [list(edge) for edge in region.transition.edges],
        "label": region.transition.label,
        "outcomes": list(region.outcomes),
        "chosen": {name: show_term(term) for name, term in region.chosen},
    }


def _state_to_json(state: State) -> dict[str, Any]:
    return {name: value_to_json(value) for name, value in state.items()}


def _move_to_json(move: Move) -> dict[str, Any]:
    return {
        "edges": [list(edge) for edge in move.transition.edges],
        "label": move.transition.label,
        "outcomes": list(move.outcomes),
        "chosen": _state_to_json(move.chosen),
    }


def _annotation_to_json(annotation: Annotation) -> Mapping[str, Any]:
    return {
        "observation": [value_to_json(v) for v in annotation.observation],
        "outputs": [value_to_json(v) for v in annotation.outputs],
        "actions": list(annotation.actions),
        "controls": _state_to_json(annotation.controls),
        "stalled": annotation.stalled,
    }
