"""Certificates about files: the proof of a query restated for the network and property it was read from.

An engine proves a query; what a user wants certified is that nothing satisfies the property file. The checker
derives the query from the files itself, so only the names in the proof have to be those of the files.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

_INPUT, _OUTPUT = re.compile(r"(X_\d+)@0\Z"), re.compile(r"output\[(\d+)\]@0\Z")


def restate_for_files(
    content: Mapping[str, Any], source: Mapping[str, Any], inputs: Mapping[str, str]
) -> dict[str, Any] | None:
    """The certificate for a VNN-LIB problem; None if the problem or the proof is of another kind."""
    if source.get("kind") != "vnnlib":
        return None
    network, specification = str(source["network"]), str(source["specification"])
    cases = [_rename_case(_drop_unused_atoms(case)) for case in content["cases"]]
    if any(case is None for case in cases):
        return None
    kinds = {kind for name, _, _, kind in content["claim"]["variables"] if _INPUT.match(name)}
    return {
        "surefoot-certificate": 2,
        "claim": {
            "kind": "vnnlib",
            "network": {"file": network, "sha256": inputs[network]},
            "property": {"file": specification, "sha256": inputs[specification]},
            "output": source.get("output"),
            "inputs": "real" if "real" in kinds else "float32",
        },
        "arithmetic": content["arithmetic"],
        "cases": cases,
    }


def cases_without_controls(content: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The cases of a proof about one state, without what defines controls by outputs and is not needed."""
    return [{k: v for k, v in _drop_unused_atoms(case).items() if k != "define"} for case in content["cases"]]


def _drop_unused_atoms(case: Mapping[str, Any]) -> Mapping[str, Any]:
    """The case without atoms that no step uses: some bound outputs, which the files do not do."""
    steps = case["steps"]
    if any(step[0] == "point" for step in steps):  # it may rest on any atom
        return case
    parts = [m for step in steps if step[0] == "cut" for _, m in step[1]]
    parts += [step[2] for step in steps if step[0] in ("drop", "exact")]
    stronger = _stronger_atoms(case)
    used = sorted({stronger[atom] for multipliers in parts for atom, _ in multipliers.get("atoms", ())})
    place = {atom: number for number, atom in enumerate(used)}

    def renumber_atoms(multipliers: Mapping[str, Any]) -> dict[str, Any]:
        if "atoms" not in multipliers:
            return dict(multipliers)
        weights: dict[int, Any] = {}
        for atom, weight in multipliers["atoms"]:
            number = place[stronger[atom]]
            weights[number] = weights[number] + weight if number in weights else weight
        return {**multipliers, "atoms": [[number, weight] for number, weight in weights.items()]}

    rewritten = []
    for step in steps:
        if step[0] == "cut":
            step = ["cut", [[sets, renumber_atoms(multipliers)] for sets, multipliers in step[1]]]
        elif step[0] in ("drop", "exact"):
            step = [*step[:2], renumber_atoms(step[2])]
        rewritten.append(step)
    sets = [[place[atom] for atom in several if atom in place] for several in case["sets"]]
    return {**case, "atoms": [case["atoms"][atom] for atom in used], "sets": sets, "steps": rewritten}


def _stronger_atoms(case: Mapping[str, Any]) -> list[int]:
    """For every atom the one to use instead: of those with the same left side the tightest one."""
    atoms, sets = case["atoms"], case["sets"]
    weights = [
        w for step in case["steps"] if step[0] == "cut" for _, m in step[1] for _, w in m.get("atoms", ())
    ]
    weights += [w for step in case["steps"] if step[0] == "drop" for _, w in step[2].get("atoms", ())]
    best = list(range(len(atoms)))
    if not all(type(w) is int for w in weights) or any(step[0] == "exact" for step in case["steps"]):
        return best
    for weak, (relation, linear) in enumerate(atoms):
        for tight, (other, line) in enumerate(atoms):
            same = relation == other == "<=" and _form_slopes(linear) == _form_slopes(line)
            together = all(tight in several for several in sets if weak in several)
            if same and together and Fraction(line.get("", 0)) > Fraction(atoms[best[weak]][1].get("", 0)):
                best[weak] = tight
    return best


def _form_slopes(linear: Mapping[str, Any]) -> dict[str, Fraction]:
    return {name: Fraction(value) for name, value in linear.items() if name}


def _rename_case(case: Mapping[str, Any]) -> dict[str, Any] | None:
    """A case in the names of the files; the definitions of controls by outputs are of no use there."""
    atoms = []
    for relation, linear in case["atoms"]:
        names = {name: _rename_variable(name) for name in linear}
        if None in names.values():
            return None
        atoms.append([relation, {names[name]: value for name, value in linear.items()}])
    if case.get("choose"):
        return None
    rest = {key: value for key, value in case.items() if key not in ("atoms", "define", "choose")}
    return {"atoms": atoms, **rest}


def _rename_variable(name: str) -> str | None:
    if not name:
        return name
    if (found := _INPUT.match(name)) is not None:
        return found[1]
    found = _OUTPUT.match(name)
    return None if found is None else f"Y_{found[1]}"
