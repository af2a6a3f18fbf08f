"""A model and its questions as a problem file."""

import json
from pathlib import Path

from tests.laws.oracle.model import Component, Edge, Kind, Model, Outcome, Variable
from tests.laws.oracle.network import write_network
from tests.laws.oracle.questions import Question
from tests.laws.oracle.terms import Term, text_of


def constants_of(model: Model) -> dict[str, int]:
    """The variables whose upper limit is written as a constant, and that limit."""
    if "constants" not in model.features:
        return {}
    return {v.name: v.kind.high for v in model.variables if v.kind.base == "int" and v.kind.high is not None}


def kind_text(kind: Kind, limit: str | None = None) -> str:
    low, high = (None if x is None else text_of(x) for x in (kind.low, kind.high))
    high = limit or high
    limits = ""
    if kind.base == "int":
        limits = f" {low}..{high}" if low and high else f" >= {low}" if low else f" <= {high}" if high else ""
    elif kind.base == "real":
        limits = (
            f" [{low}, {high}]" if low and high else f" >= {low}" if low else f" <= {high}" if high else ""
        )
    prefix = "" if kind.length is None else f"array {kind.length} of "
    return prefix + kind.base + limits


def quoted(text: str) -> str:
    return json.dumps(text)


def term_text(term: Term) -> str:
    return quoted(text_of(term))


def table(entries: dict[str, str]) -> str:
    return "{ " + ", ".join(f"{key} = {value}" for key, value in entries.items()) + " }"


def updates_text(outcome: Outcome, windows: set[str]) -> list[str]:
    shifts = {u.name: term_text(u.value) for u in outcome.updates if u.name in windows}
    lines = [f"shift = {table(shifts)}"] if shifts else []
    ordinary = [u for u in outcome.updates if u.name not in windows]
    tables = []
    for order in sorted({u.order for u in ordinary}):
        entries = {}
        for u in ordinary:
            if u.order == order:
                name = u.name if u.index is None else quoted(f"{u.name}[{text_of(u.index)}]")
                entries[name] = term_text(u.value)
        tables.append(table(entries))
    if len(tables) == 1:
        lines.append(f"updates = {tables[0]}")
    elif tables:
        lines.append(f"updates = [{', '.join(tables)}]")
    if outcome.rewards:
        lines.append(f"rewards = {table({n: term_text(t) for n, t in outcome.rewards})}")
    if outcome.target is not None:
        lines.append(f"target = {quoted(outcome.target)}")
    return lines


def edge_text(edge: Edge, header: str, windows: set[str]) -> list[str]:
    lines = [f"[[{header}]]"]
    if edge.source is not None:
        lines.append(f"source = {quoted(edge.source)}")
    if edge.action is not None:
        lines.append(f"action = {quoted(edge.action)}")
    if edge.guard is not True:
        lines.append(f"guard = {term_text(edge.guard)}")
    if edge.chosen:
        lines.append(f"chosen = {table({c.name: quoted(kind_text(c.kind)) for c in edge.chosen})}")
    if edge.assuming is not True:
        lines.append(f"assuming = {term_text(edge.assuming)}")
    if len(edge.outcomes) == 1 and edge.outcomes[0].probability == 1:
        return lines + updates_text(edge.outcomes[0], windows)
    for outcome in edge.outcomes:
        lines += [f"[[{header}.outcomes]]", f"probability = {term_text(outcome.probability)}"]
        lines += updates_text(outcome, windows)
    return lines


def starts_text(model: Model) -> Term:
    """`initial`, with what the variables are fixed to."""
    parts = []
    for v in model.variables:
        if v.starts is not None:
            options = [fixed_to(v, x) for x in v.starts]
            parts.append(options[0] if len(options) == 1 else ("or", *options))
    if model.initial is not True:
        parts.append(model.initial)
    return True if not parts else parts[0] if len(parts) == 1 else ("and", *parts)


def fixed_to(variable: Variable, value: object) -> Term:
    name = ("var", variable.name)
    if isinstance(value, tuple):
        return ("and", *(entry_is(("select", name, i), x) for i, x in enumerate(value)))
    return entry_is(name, value)


def entry_is(place: Term, value: object) -> Term:
    if isinstance(value, bool):
        return place if value else ("not", place)
    return ("=", place, value)


def component_text(component: Component, windows: set[str]) -> list[str]:
    lines = ["[[components]]", f"name = {quoted(component.name)}"]
    if component.locations:
        lines.append(f"locations = {json.dumps(component.locations)}")
    if len(component.initial) == 1:
        lines.append(f"initial = {quoted(component.initial[0])}")
    elif component.initial:
        lines.append(f"initial = {json.dumps(component.initial)}")
    for edge in component.edges:
        lines += edge_text(edge, "components.edges", windows)
    return lines


def policy_text(model: Model) -> list[str]:
    policy = model.policy
    if policy is None:
        return []
    if policy.branches is not None:
        lines = ["[policy.program]"]
        if policy.actions is not None:
            lines.append(f"actions = {json.dumps(policy.actions)}")
        lines.append("branches = [")
        for when, then in policy.branches:
            entry = {} if when is True else {"when": term_text(when)}
            if isinstance(then, tuple):
                entry["controls"] = "[" + ", ".join(map(term_text, then)) + "]"
            else:
                entry["action"] = quoted(str(then))
            lines.append(f"  {table(entry)},")
        return [*lines, "]"]
    lines = ["[policy]", 'file = "policy.onnx"']
    lines.append("observe = [" + ", ".join(map(term_text, policy.observe)) + "]")
    if policy.actions is not None:
        lines.append(f"actions = {json.dumps(policy.actions)}")
    if policy.edges_of is not None:
        lines.append(f"edges_of = {quoted(policy.edges_of)}")
        if policy.order is not None:
            lines.append(f"order = {json.dumps(policy.order)}")
    return [*lines, f"choose = {quoted(policy.choose)}"]


def problem_text(model: Model, questions: list[Question]) -> str:
    windows = {name for name, _, _ in model.windows}
    lines = [f"name = {quoted(model.name)}"]
    if model.float64:
        lines.append('arithmetic = "float64"')
    if (start := starts_text(model)) is not True:
        lines.append(f"initial = {term_text(start)}")
    limits = constants_of(model)
    if limits:
        lines += ["[constants]", *(f"most_{name} = {value}" for name, value in limits.items())]
    lines.append("[variables]")
    for v in model.variables:
        limit = f"most_{v.name}" if v.name in limits else None
        lines.append(f"{v.name} = {quoted(kind_text(v.kind, limit))}")
    if model.windows:
        lines.append("[windows]")
        lines += [
            f"{n} = {{ length = {k}, kind = {quoted(kind_text(kind))} }}" for n, k, kind in model.windows
        ]
    if model.controls:
        lines.append("[controls]")
        for c in model.controls:
            limits = "" if c.low is None else f"[{text_of(c.low)}, {text_of(c.high)}]"
            lines.append(f"{c.name} = {quoted(limits)}")
    only = model.components[0]
    if len(model.components) == 1 and not only.locations and model.synchronisations is None:
        for edge in only.edges:
            lines += edge_text(edge, "edges", windows)
    else:
        for component in model.components:
            lines += component_text(component, windows)
    for vector in model.synchronisations or ():
        lines += ["[[synchronisations]]", f"actions = {table({c: quoted(a) for c, a in vector.actions})}"]
        if vector.named and vector.result is not None:
            lines.append(f"result = {quoted(vector.result)}")
    lines += policy_text(model)
    lines += ["[properties]", *(f"q{i} = {quoted(q.text)}" for i, q in enumerate(questions))]
    return "\n".join(lines) + "\n"


def write_problem(model: Model, questions: list[Question], folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "problem.toml"
    path.write_text(problem_text(model, questions), encoding="utf-8")
    if model.policy is not None and model.policy.layers:
        write_network(model.policy.layers, folder / "policy.onnx", batch=len(model.name) % 2 == 0)
    return path
