"""A model and its questions as a JANI file; a network is wired to it by a sidecar file."""

import json
from pathlib import Path
from typing import Any

from tests.laws.oracle.model import Component, Edge, Kind, Model, Outcome, Variable
from tests.laws.oracle.network import write_network
from tests.laws.oracle.questions import AboutRuns, Question, jani_question
from tests.laws.oracle.terms import functions_in, jani_of, names_in
from tests.laws.oracle.toml_text import constants_of, policy_text


def kind_json(kind: Kind, limit: str | None = None) -> Any:
    """`limit` is the constant that stands for the upper bound."""
    if kind.length is not None:
        return {"kind": "array", "base": kind_json(kind.entry, limit)}
    if kind.low is None and kind.high is None:
        return kind.base
    found: dict[str, Any] = {"kind": "bounded", "base": kind.base}
    if kind.low is not None:
        found["lower-bound"] = jani_of(kind.low)
    if kind.high is not None:
        found["upper-bound"] = limit or jani_of(kind.high)
    return found


def variable_json(variable: Variable, limits: dict[str, int]) -> dict[str, Any]:
    limit = f"most_{variable.name}" if variable.name in limits else None
    found = {"name": variable.name, "type": kind_json(variable.kind, limit)}
    if variable.starts is not None:
        (start,) = variable.starts
        found["initial-value"] = jani_of(("array", *start) if isinstance(start, tuple) else start)
    return found


def destination_json(edge: Edge, outcome: Outcome, location: str, plain: bool) -> dict[str, Any]:
    assignments = []
    for u in outcome.updates:
        ref = u.name if u.index is None else jani_of(("select", ("var", u.name), u.index))
        entry = {"ref": ref, "value": jani_of(u.value)}
        assignments.append(entry | ({"index": u.order} if u.order else {}))
    found: dict[str, Any] = {"location": outcome.target or edge.source or location}
    if not plain:
        found["probability"] = {"exp": jani_of(outcome.probability)}
    if assignments:
        found["assignments"] = assignments
    return found


def automaton_json(
    component: Component, variables: list[Variable], limits: dict[str, int], *, hoist: bool
) -> dict[str, Any]:
    locations = component.locations or ("here",)
    shown: list[dict[str, Any]] = []
    for name in locations:
        values = [{"ref": v, "value": jani_of(t)} for at, v, t in component.values if at == name]
        shown.append({"name": name} | ({"transient-values": values} if values else {}))
    edges = []
    for edge in component.edges:
        found: dict[str, Any] = {"location": edge.source or locations[0]}
        if edge.action is not None:
            found["action"] = edge.action
        if edge.guard is not True:
            found["guard"] = {"exp": jani_of(edge.guard)}
        plain = len(edge.outcomes) == 1 and edge.outcomes[0].probability == 1
        found["destinations"] = [destination_json(edge, o, locations[0], plain) for o in edge.outcomes]
        if hoist and plain and "assignments" in found["destinations"][0]:
            found["assignments"] = found["destinations"][0].pop("assignments")
        edges.append(found)
    result = {
        "name": component.name,
        "locations": shown,
        "initial-locations": list(component.initial or locations[:1]),
        "edges": edges,
    }
    return result | ({"variables": [variable_json(v, limits) for v in variables]} if variables else {})


def asked_in_file(question: Question) -> bool:
    """Whether JANI can say it (other questions are asked as text)."""
    if isinstance(question, AboutRuns):
        return question.kind in ("never", "always", "eventually") and question.steps is None
    if isinstance(question.spent, str):
        return False
    plain = question.reward is None or (isinstance(question.reward, tuple) and question.reward[0] == "jani")
    return bool(question.optimise) and question.of is None and question.over != "count" and plain


def model_json(model: Model, questions: list[Question], local: set[str]) -> dict[str, Any]:
    shared = [v for v in model.variables if v.name not in local]
    limits = constants_of(model)
    declared = [variable_json(v, limits) for v in shared]
    for name, kind, start in model.transients:
        declared.append(
            {"name": name, "type": kind_json(kind), "transient": True, "initial-value": jani_of(start)}
        )
    actions = {e.action for c in model.components for e in c.edges if e.action is not None}
    actions |= {s.result for s in model.synchronisations or () if s.result is not None}
    order = [c.name for c in model.components]
    system: dict[str, Any] = {"elements": [{"automaton": name} for name in order]}
    if model.synchronisations is not None:
        system["syncs"] = []
        for vector in model.synchronisations:
            parts = dict(vector.actions)
            entry = {"synchronise": [parts.get(name) for name in order]}
            system["syncs"].append(entry | ({"result": vector.result} if vector.result else {}))
    found = {
        "jani-version": 1,
        "name": model.name,
        "type": "mdp" if is_random(model) or len(model.name) % 2 else "lts",
        "constants": [{"name": f"most_{n}", "type": "int", "value": x} for n, x in limits.items()],
        "features": ["arrays", "derived-operators", "state-exit-rewards"],
        "actions": [{"name": name} for name in sorted(actions)],
        "variables": declared,
        "automata": [
            automaton_json(
                c,
                [v for v in model.variables if v.name in local] if i == 0 else [],
                limits,
                hoist="edge assignments" in model.features,
            )
            for i, c in enumerate(model.components)
        ],
        "system": system,
        "properties": [
            {"name": f"q{i}", "expression": jani_question(q)}
            for i, q in enumerate(questions)
            if asked_in_file(q)
        ],
    }
    functions = functions_of(model)
    if functions:
        found["features"] = [*found["features"], "functions"]  # type: ignore[misc]
        found["functions"] = [
            {
                "name": name,
                "type": "int",
                "parameters": [{"name": p, "type": "int"} for p in parameters],
                "body": jani_of(body),
            }
            for name, (parameters, body) in sorted(functions.items())
        ]
    if model.initial is not True:
        found["restrict-initial"] = {"exp": jani_of(model.initial)}
    return found


def is_random(model: Model) -> bool:
    return any(len(e.outcomes) > 1 for c in model.components for e in c.edges)


def functions_of(model: Model) -> dict[str, Any]:
    terms = [model.initial]
    for component in model.components:
        for edge in component.edges:
            terms.append(edge.guard)
            for outcome in edge.outcomes:
                terms.append(outcome.probability)
                terms += [part for u in outcome.updates for part in (u.value, u.index)]
    return {name: value for term in terms for name, value in functions_in(term).items()}


def private_names(model: Model, questions: list[Question]) -> set[str]:
    """The variables that only the first automaton mentions, and no question of the file."""
    seen: set[str] = names_in(model.initial)
    for component in model.components[1:]:
        for edge in component.edges:
            seen |= names_in(edge.guard)
            for outcome in edge.outcomes:
                seen |= names_in(outcome.probability)
                for u in outcome.updates:
                    seen |= {u.name} | names_in(u.value) | names_in(0 if u.index is None else u.index)
    for question in filter(asked_in_file, questions):
        terms = [question.condition] if isinstance(question, AboutRuns) else [question.left, question.right]
        for term in terms:
            seen |= names_in(term)
    return {v.name for v in model.variables} - seen


def write_jani(model: Model, questions: list[Question], folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "model.jani"
    local = private_names(model, questions) if "local" in model.features else set()
    path.write_text(
        json.dumps(model_json(model, questions, local), indent=1, ensure_ascii=False), encoding="utf-8"
    )
    if model.policy is not None:
        write_network(model.policy.layers, folder / "policy.onnx", batch=False)
        lines = [line for line in policy_text(model) if not line.startswith(("[policy]", "file"))]
        (folder / "policy.wiring.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def reference(question: Question, place: int) -> str:
    """How `--property` asks for it."""
    return f"q{place}" if asked_in_file(question) else question.text
