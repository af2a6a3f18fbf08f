"""From a result to JSON data, with what a search found: tipping points, invariants, abstract graphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from surefoot.errors import InvalidProblem
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
from surefoot.problem.policy_memory import write_out_memory
from surefoot.problem.problem import Problem
from surefoot.problem.property_printer import show_property
from surefoot.problem.semantics import Move, State, policy_decision
from surefoot.term.printer import show_term
from surefoot.verdict.artifact import (
    AbstractGraph,
    Flowpipe,
    Invariant,
    InvariantObligation,
    PredicateSplit,
    SafeStarts,
    SuspectedRun,
    TippingPoint,
    Trial,
)
from surefoot.verdict.fault import Alternative, Claim, Fault, FaultFinding
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
    for shown, trace in zip(data.get("witnesses", ()), result.witnesses, strict=True):
        seen = annotate_trace(problem, trace)
        shown["decisions"] = [None if a is None else _annotation_to_json(a) for a in seen]
    if (answer := answer_threshold(problem.property, result.verdict)) is not None:
        data["verdict"]["threshold"] = answer
        if isinstance(result.verdict, PerStart):
            for row, (_, verdict) in zip(data["verdict"]["table"], result.verdict.table, strict=True):
                row["verdict"]["threshold"] = answer_threshold(problem.property, verdict)
    return data


def annotate_trace(problem: Problem, trace: Trace) -> tuple[Annotation | None, ...]:
    """What the policy saw and decided in each state of a trace; None where it has no decision."""
    executed = write_out_memory(problem)
    return tuple(_annotate_state(executed, state) for state in trace.states)


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
        **({} if result.unchecked is None else {"unchecked": _certificate_to_json(result.unchecked)}),
        **({} if result.fault is None else {"fault": fault_finding_to_json(result.fault)}),
        **({"witnesses": [_trace_to_json(t) for t in result.witnesses]} if result.witnesses else {}),
    }


def fault_finding_to_json(found: FaultFinding) -> dict[str, Any]:
    """The last decision that could have been different, or why there is none, or why it is not known."""
    return {
        "decision": None if found.fault is None else fault_to_json(found.fault),
        "lost": None if found.lost is None else fault_claim_to_json(found.lost),
        "unknown": found.unknown,
        **({} if found.costliest is None else {"costliest": fault_to_json(found.costliest)}),
    }


def fault_to_json(fault: Fault) -> dict[str, Any]:
    risk = {} if fault.risk is None else {"risk": {"before": fault.risk[0], "after": fault.risk[1]}}
    return {
        "step": fault.step,
        "state": _state_to_json(fault.state),
        "observation": [value_to_json(v) for v in fault.observation],
        "chosen": [_alternative_to_json(a) for a in fault.chosen],
        "stalled": fault.stalls,
        "safe": [_alternative_to_json(a) for a in fault.safe],
        "saved": fault_claim_to_json(fault.saved),
        "lost": None if fault.lost is None else fault_claim_to_json(fault.lost),
        "untried": fault.untried,
        **risk,
    }


def fault_claim_to_json(claim: Claim) -> dict[str, Any]:
    steps = {} if claim.steps is None else {"steps": claim.steps}
    return {"kind": claim.kind, **steps, **({} if claim.runs is None else {"runs": claim.runs})}


def _alternative_to_json(one: Alternative) -> dict[str, Any]:
    return {"controls": _state_to_json(one.controls)} if one.controls else {"action": one.action}


def _verdict_to_json(verdict: Verdict) -> dict[str, Any]:
    beside = verdict.artifact if isinstance(verdict, Proved | Violated | Holds | Unknown) else None
    if isinstance(verdict, Violated) and isinstance(beside, SuspectedRun):  # shown by its certificate
        return _answer_to_json(verdict) | {"integrated": _suspected_run_to_json(beside)}
    return _answer_to_json(verdict) | ({} if beside is None else _artifact_to_json(beside))


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
        case Estimated(low, high, confidence, counts, stop, mean, starts):
            evidence = {"confidence": exact_text(confidence), "counts": dict(counts)}
            why = {"stop": stop} if stop else {}
            middle = {} if mean is None else {"mean": exact_text(mean)}
            law = {"starts": {"average_over": starts}} if starts else {}
            return {"kind": "estimated", **_interval_to_json(low, high), **evidence, **why, **middle, **law}
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
                **_artifact_to_json(artifact),
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
    timed = {"times": [exact_text(time) for time in trace.times]} if trace.times else {}
    return {"states": states, "moves": moves, "loop": trace.loop, **endless, **timed}


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


def _artifact_to_json(artifact: object) -> dict[str, Any]:
    """JSON data as it is; what we know by its parts; any other object by its reproducible text."""
    match artifact:
        case TippingPoint():
            return {"artifact": _tipping_point_to_json(artifact)}
        case Invariant():
            return {"artifact": _invariant_to_json(artifact)}
        case AbstractGraph():
            return {"artifact": abstract_graph_to_json(artifact)}
        case Flowpipe():
            return {"flowpipe": flowpipe_to_json(artifact)}
        case SuspectedRun():
            return {"suspicion": _suspected_run_to_json(artifact)}
        case SafeStarts():
            return {"artifact": _safe_starts_to_json(artifact)}
    try:
        return {"artifact": normalise_json(artifact)}
    except TypeError:
        return {"artifact_text": repr(artifact)}


def flowpipe_to_json(found: Flowpipe) -> dict[str, Any]:
    """Boxes are floats, rounded outward; moments and starts are exact."""
    return {
        "variables": list(found.variables),
        "quantities": list(found.quantities),
        "unit": found.unit,
        "horizon": None if found.horizon is None else exact_text(found.horizon),
        "share": exact_text(found.share),
        "until": None if found.until is None else exact_text(found.until),
        "cells": {"done": found.cells[0], "open": found.cells[1]},
        "starts": [
            {
                "low": [exact_text(v) for v in box.low],
                "high": [exact_text(v) for v in box.high],
                "state": box.state,
                "until": None if box.until is None else exact_text(box.until),
                "why": box.why,
            }
            for box in found.starts
        ],
        "pieces": [
            [exact_text(p.begin), exact_text(p.end), p.cell, list(p.low), list(p.high)] for p in found.pieces
        ],
    }


def _suspected_run_to_json(found: SuspectedRun) -> dict[str, Any]:
    """Plain floats: nothing about them is exact."""
    return {
        "time": found.time,
        "runs": found.runs,
        "method": found.method,
        "error": found.error,
        "times": list(found.times),
        "states": [dict(state) for state in found.states],
        "controls": [dict(held) for held in found.controls],
    }


def _tipping_point_to_json(found: TippingPoint) -> dict[str, Any]:
    return {
        "kind": "tipping point",
        "statement": found.statement,
        "proved": None if found.proved is None else _end_to_json(found.proved),
        "refuted": None if found.refuted is None else _end_to_json(found.refuted),
        "precision": exact_text(found.precision),
        "reached": found.is_within_precision,
        "stopped": found.stopped,
        "condition": None if found.condition is None else show_term(found.condition),
        "trials": [_trial_to_json(trial) for trial in found.trials],
    }


def _trial_to_json(trial: Trial) -> dict[str, Any]:
    return {
        "value": exact_text(trial.value),
        "answer": trial.answer,
        "certified": trial.certified,
        "seconds": trial.seconds,
    }


def _end_to_json(trial: Trial) -> dict[str, Any]:
    """One of the two ends, with its evidence; the certificate of a proof stands beside the artifact."""
    verdict = _verdict_to_json(trial.verdict)
    if isinstance(trial.verdict, Proved):
        verdict.pop("certificate", None)
    return {**_trial_to_json(trial), "verdict": verdict}


def _invariant_to_json(found: Invariant) -> dict[str, Any]:
    return {
        "kind": "invariant",
        "condition": show_term(found.condition),
        "obligations": [_obligation_to_json(o) for o in found.obligations],
        "candidates": [{"condition": text, "outcome": outcome} for text, outcome in found.candidates],
    }


def _obligation_to_json(obligation: InvariantObligation) -> dict[str, Any]:
    return {
        "name": obligation.name,
        "certified": obligation.certified,
        "seconds": obligation.seconds,
        "verdict": _verdict_to_json(obligation.verdict),
    }


def abstract_graph_to_json(found: AbstractGraph) -> dict[str, Any]:
    """States are numbered by their place in the list; truth values stand in the order of the predicates."""
    states = [
        {
            "locations": dict(state.locations),
            "values": list(state.values),
            "start": state.start,
            "unsafe": state.unsafe,
            "distance": state.distance,
            "witness": None if state.witness is None else _state_to_json(state.witness),
        }
        for state in found.states
    ]
    return {
        "kind": "abstract graph",
        "predicates": [show_term(p) for p in found.predicates],
        "states": states,
        "edges": [{"from": source, "action": label, "to": target} for source, label, target in found.edges],
        "means": found.means,
        "exact": found.exact,
        "complete": found.complete,
        "tests": [
            {"kind": t.kind, "number": t.number, "possible": t.possible, "seconds": round(t.seconds, 6)}
            for t in found.tests
        ],
        "refinements": [{"because": why, "predicate": show_term(p)} for why, p in found.refinements],
        **({"splits": [_split_to_json(split) for split in found.splits]} if found.splits else {}),
    }


def _split_to_json(split: PredicateSplit) -> dict[str, Any]:
    return {
        "predicate": show_term(split.predicate),
        "origin": split.origin,
        "states": split.states,
        "edges": split.edges,
        "unsafe": split.unsafe,
        "pieces": list(split.pieces),
        "graph": None if split.graph is None else abstract_graph_to_json(split.graph),
        "inside": list(split.inside),
    }


def _safe_starts_to_json(found: SafeStarts) -> dict[str, Any]:
    return {
        "kind": "safe starts",
        "condition": show_term(found.condition),
        "starts": found.count,
        "counts": {answer: found.count_starts(answer) for answer in ("proved", "refuted", "unknown")},
        "stopped": found.stopped,
        "groups": [
            {
                "answer": group.answer,
                "condition": show_term(group.condition),
                "starts": group.count,
                "certified": group.certified,
                "verdict": _verdict_to_json(group.verdict),
            }
            for group in found.groups
        ],
    }
