"""A plant as a problem file."""

import json
from pathlib import Path

from tests.laws.oracle.network import write_network
from tests.laws.oracle.plants import Plant, PlantChoice, PlantEdge, PlantOutcome
from tests.laws.oracle.terms import Term, text_of, wrap
from tests.laws.oracle.toml_text import quoted, table, term_text


def property_text(plant: Plant) -> str:
    asked = plant.asked
    condition = wrap(asked.condition, 4)
    ending = "" if asked.steps is None else f" for {asked.steps} steps"
    if asked.kind == "never":
        return f"never {condition}{ending}"
    if asked.kind == "before":
        return f"never {condition} before {wrap(asked.goal, 4)}{ending}"
    if asked.kind == "within":
        return f"within {asked.steps} {condition}"
    return f"{asked.kind} {condition}"


def choice_text(choice: PlantChoice) -> str:
    if choice.base == "int":
        return quoted(f"int {choice.low}..{choice.high}")
    return quoted(f"real [{text_of(choice.low)}, {text_of(choice.high)}]")


def outcome_text(plant: Plant, outcome: PlantOutcome) -> list[str]:
    window = "" if plant.window is None else plant.window[0]
    updates, shifts = {}, {}
    for name, index, term in outcome.updates:
        if name == window:
            shifts[name] = term_text(term)
        else:
            updates[name if index is None else quoted(f"{name}[{text_of(index)}]")] = term_text(term)
    lines = [f"updates = {table(updates)}"] if updates else []
    lines += [f"shift = {table(shifts)}"] if shifts else []
    return lines + ([f"target = {quoted(outcome.target)}"] if outcome.target is not None else [])


def edge_text(plant: Plant, edge: PlantEdge, header: str) -> list[str]:
    lines = [f"[[{header}]]"]
    if edge.source is not None:
        lines.append(f"source = {quoted(edge.source)}")
    if edge.action is not None:
        lines.append(f"action = {quoted(edge.action)}")
    if edge.guard is not True:
        lines.append(f"guard = {term_text(edge.guard)}")
    if edge.chosen:
        lines.append(f"chosen = {table({c.name: choice_text(c) for c in edge.chosen})}")
    if edge.assuming is not True:
        lines.append(f"assuming = {term_text(edge.assuming)}")
    if len(edge.outcomes) == 1:
        return lines + outcome_text(plant, edge.outcomes[0])
    for outcome in edge.outcomes:
        lines += [f"[[{header}.outcomes]]", f"probability = {term_text(outcome.probability)}"]
        lines += outcome_text(plant, outcome)
    return lines


def terms_text(terms: tuple[Term, ...]) -> str:
    return "[" + ", ".join(map(term_text, terms)) + "]"


def policy_text(plant: Plant) -> list[str]:
    policy = plant.policy
    if policy is None:
        return []
    if policy.layers:
        lines = ["[policy]", 'file = "policy.onnx"', f"observe = {terms_text(policy.observe)}"]
        if policy.actions:
            lines.append(f"actions = {json.dumps(policy.actions)}")
        return [*lines, f"choose = {quoted(policy.choose)}"]
    lines = ["[policy.program]", "branches = ["]
    for when, then in policy.branches:
        entry = {} if when is True else {"when": term_text(when)}
        entry |= {"controls": terms_text(then)} if isinstance(then, tuple) else {"action": quoted(then)}
        lines.append(f"  {table(entry)},")
    return [*lines, "]"]


def plant_text(plant: Plant) -> str:
    lines = [f"name = {quoted(plant.name)}", f"initial = {term_text(plant.starts.condition())}"]
    if plant.float64:
        lines.append('arithmetic = "float64"')
    if plant.variables:
        lines += ["[variables]", *(f"{name} = {quoted(kind)}" for name, kind in plant.variables)]
    if plant.window is not None:
        name, length, kind = plant.window
        lines += ["[windows]", f"{name} = {{ length = {length}, kind = {quoted(kind)} }}"]
    if plant.control is not None:
        low, high = plant.control
        lines += ["[controls]", f'u = "[{text_of(low)}, {text_of(high)}]"']
    if plant.flow is not None:
        step, method, derivatives = plant.flow
        lines += ["[flow]", f"step = {quoted(text_of(step))}", f"method = {quoted(method)}"]
        lines.append(f"derivatives = {table({n: term_text(t) for n, t in derivatives})}")
    if plant.locations:
        lines += ["[[components]]", 'name = "main"', f"locations = {json.dumps(plant.locations)}"]
    for edge in plant.edges:
        lines += edge_text(plant, edge, "components.edges" if plant.locations else "edges")
    return "\n".join(
        [*lines, *policy_text(plant), "[properties]", f"q0 = {quoted(property_text(plant))}", ""]
    )


def write_plant(plant: Plant, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "problem.toml"
    path.write_text(plant_text(plant), encoding="utf-8")
    if plant.policy is not None and plant.policy.layers:
        policy = plant.policy
        write_network(policy.layers, folder / "policy.onnx", batch=True, activation=policy.activation)
    return path
