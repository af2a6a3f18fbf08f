"""What a search found, as JSON data: tipping points, invariants and abstract graphs, with what was asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from surefoot.formats.result_json.exact_numbers import exact_text, normalise_json, value_to_json
from surefoot.problem.semantics import State
from surefoot.term.printer import show_term
from surefoot.verdict.artifact import (
    AbstractGraph,
    Invariant,
    InvariantObligation,
    PredicateSplit,
    SafeStarts,
    TippingPoint,
    Trial,
)
from surefoot.verdict.verdict import Proved, Verdict

Write = Callable[[Verdict], dict[str, Any]]


def artifact_to_json(artifact: object, write: Write) -> dict[str, Any]:
    """JSON data as it is; what we know by its parts; any other object by its reproducible text."""
    match artifact:
        case TippingPoint():
            return {"artifact": _tipping_point_to_json(artifact, write)}
        case Invariant():
            return {"artifact": _invariant_to_json(artifact, write)}
        case AbstractGraph():
            return {"artifact": abstract_graph_to_json(artifact)}
        case SafeStarts():
            return {"artifact": _safe_starts_to_json(artifact, write)}
    try:
        return {"artifact": normalise_json(artifact)}
    except TypeError:
        return {"artifact_text": repr(artifact)}


def _tipping_point_to_json(found: TippingPoint, write: Write) -> dict[str, Any]:
    return {
        "kind": "tipping point",
        "statement": found.statement,
        "proved": None if found.proved is None else _end_to_json(found.proved, write),
        "refuted": None if found.refuted is None else _end_to_json(found.refuted, write),
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


def _end_to_json(trial: Trial, write: Write) -> dict[str, Any]:
    """One of the two ends, with its evidence; the certificate of a proof stands beside the artifact."""
    verdict = write(trial.verdict)
    if isinstance(trial.verdict, Proved):
        verdict.pop("certificate", None)
    return {**_trial_to_json(trial), "verdict": verdict}


def _invariant_to_json(found: Invariant, write: Write) -> dict[str, Any]:
    return {
        "kind": "invariant",
        "condition": show_term(found.condition),
        "obligations": [_obligation_to_json(o, write) for o in found.obligations],
        "candidates": [{"condition": text, "outcome": outcome} for text, outcome in found.candidates],
    }


def _obligation_to_json(obligation: InvariantObligation, write: Write) -> dict[str, Any]:
    return {
        "name": obligation.name,
        "certified": obligation.certified,
        "seconds": obligation.seconds,
        "verdict": write(obligation.verdict),
    }


def _state_to_json(state: State) -> dict[str, Any]:
    return {name: value_to_json(value) for name, value in state.items()}


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


def _safe_starts_to_json(found: SafeStarts, write: Write) -> dict[str, Any]:
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
                "verdict": write(group.verdict),
            }
            for group in found.groups
        ],
    }
