"""Damage to certificates about runs: to the problem, the argument, and the list of obligations.

Every function takes a certificate and yields copies of it with one change each and the name of the change.
"""

from __future__ import annotations

import base64
import copy
import struct
from collections.abc import Callable, Iterator, Mapping
from typing import Any

Certificate = dict[str, Any]
Mutants = Iterator[tuple[str, Certificate]]
_SWAPPED = {"<": "<=", "<=": "<", "min": "max", "max": "min", "and": "or", "or": "and", "+": "-", "=": "<="}


def problem_mutants(certificate: Mapping[str, Any]) -> Mutants:
    """The problem becomes another one; what is said about it stays."""
    for make in (_terms, _variables, _edges, _policy, _network, _property):
        yield from make(certificate)


def argument_mutants(certificate: Mapping[str, Any]) -> Mutants:
    said = certificate["claim"]["argument"]
    for key in ("steps", "good"):
        for step in (-1, 1) if key in said else ():
            yield (
                f"argument: {key} {step:+}",
                _with(certificate, lambda c, k=key, s=step: _add(_said(c), k, s)),
            )
    other = "unrolled" if said["kind"] == "induction" else "induction"
    yield "argument: other kind", _with(certificate, lambda c: _said(c).update(kind=other))
    if "good" in said:
        yield "argument: no good", _with(certificate, lambda c: _said(c).pop("good"))
    else:
        yield "argument: good 1", _with(certificate, lambda c: _said(c).update(good=1))


def obligation_mutants(certificate: Mapping[str, Any]) -> Mutants:
    """The list of what is shown is not the list of what has to be shown, or the proofs are."""
    count = len(certificate["obligations"])
    for n in range(count):
        yield f"obligation {n} dropped", _with(certificate, lambda c, n=n: c["obligations"].pop(n))
        yield (
            f"obligation {n} twice",
            _with(certificate, lambda c, n=n: c["obligations"].insert(n, copy.deepcopy(c["obligations"][n]))),
        )
        yield f"obligation {n} without proof", _with(certificate, lambda c, n=n: _proofs(c, n).clear())
        for step in (-1, 1):
            yield (
                f"obligation {n}: steps {step:+}",
                _with(certificate, lambda c, n=n, s=step: _add(c["obligations"][n], "steps", s)),
            )
        for case in range(len(certificate["obligations"][n]["cases"])):
            yield (
                f"obligation {n}: case {case} at sight",
                _with(
                    certificate, lambda c, n=n, i=case: _proofs(c, n)[i].update(atoms=[], sets=[], steps=[])
                ),
            )
            yield (
                f"obligation {n}: case {case} dropped",
                _with(certificate, lambda c, n=n, i=case: _proofs(c, n).pop(i)),
            )
        if n + 1 < count:
            yield (
                f"obligations {n} and next swapped",
                _with(certificate, lambda c, n=n: _swap(c["obligations"], n)),
            )
            yield (
                f"proof of obligation {n} from the next",
                _with(
                    certificate,
                    lambda c, n=n: c["obligations"][n].update(cases=copy.deepcopy(_proofs(c, n + 1))),
                ),
            )


def _with(certificate: Mapping[str, Any], change: Callable[[Certificate], object]) -> Certificate:
    made = copy.deepcopy(dict(certificate))
    change(made)
    return made


def _said(certificate: Certificate) -> dict[str, Any]:
    return certificate["claim"]["argument"]  # type: ignore[no-any-return]


def _about(certificate: Mapping[str, Any]) -> dict[str, Any]:
    return certificate["claim"]["problem"]  # type: ignore[no-any-return]


def _proofs(certificate: Certificate, number: int) -> list[Any]:
    return certificate["obligations"][number]["cases"]  # type: ignore[no-any-return]


def _add(entry: dict[str, Any], key: Any, step: int) -> None:
    entry[key] = entry[key] + step


def _swap(several: list[Any], n: int) -> None:
    several[n], several[n + 1] = several[n + 1], several[n]


def _terms(certificate: Mapping[str, Any]) -> Mutants:
    """Another operator or another constant somewhere in a term."""
    for place in _places(_about(certificate)):
        where = "/".join(map(str, place))
        old = _at(_about(certificate), place)
        if type(old) is list and old and old[0] in _SWAPPED and len(old) > 2:
            new = [_SWAPPED[old[0]], *old[1:3]] if old[0] in ("+", "=") else [_SWAPPED[old[0]], *old[1:]]
            yield f"{where}: {old[0]}", _with(certificate, lambda c, p=place, n=new: _put(_about(c), p, n))
        elif type(old) is bool:
            yield f"{where}: {old}", _with(certificate, lambda c, p=place, n=not old: _put(_about(c), p, n))
        elif type(old) is int:
            for step in (-1, 1):
                new = old + step
                yield (
                    f"{where}: {step:+}",
                    _with(certificate, lambda c, p=place, n=new: _put(_about(c), p, n)),
                )


def _places(data: Any) -> Iterator[tuple[Any, ...]]:
    """Where terms, and parts of terms, are in a problem."""
    yield from _inside(data["initial"], ("initial",))
    for n, edge in enumerate(data["edges"]):
        for key in ("guard", "assuming"):
            yield from _inside(edge[key], ("edges", n, key))
        for o, outcome in enumerate(edge["outcomes"]):
            for u, update in enumerate(outcome):
                yield from _inside(update[1], ("edges", n, "outcomes", o, u, 1))
    for n, term in enumerate(data["policy"]["observe"]):
        yield from _inside(term, ("policy", "observe", n))
    yield from _inside(data["property"]["condition"], ("property", "condition"))


def _inside(term: Any, path: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    yield path
    if type(term) is list and term[0] != "name":
        for n, part in enumerate(term[1:], 1):
            yield from _inside(part, (*path, n))


def _at(data: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        data = data[key]
    return data


def _put(data: Any, path: tuple[Any, ...], new: Any) -> None:
    _at(data, path[:-1])[path[-1]] = new


def _variables(certificate: Mapping[str, Any]) -> Mutants:
    for n, variable in enumerate(_about(certificate)["variables"]):
        for end in (1, 2) if variable[3] == "integer" else ():
            for step in (-1, 1):
                yield (
                    f"variables/{n}: {'low' if end == 1 else 'high'} {step:+}",
                    _with(certificate, lambda c, n=n, e=end, s=step: _add(_about(c)["variables"][n], e, s)),
                )
    yield "initial: anywhere", _with(certificate, lambda c: _about(c).update(initial=True))


def _edges(certificate: Mapping[str, Any]) -> Mutants:
    edges, labels = _about(certificate)["edges"], _about(certificate)["policy"]["actions"]
    for n, edge in enumerate(edges):
        yield f"edge {n} dropped", _with(certificate, lambda c, n=n: _about(c)["edges"].pop(n))
        yield (
            f"edge {n} last",
            _with(certificate, lambda c, n=n: _about(c)["edges"].append(_about(c)["edges"].pop(n))),
        )
        for key in ("guard", "assuming"):
            for new in (True, ["not", edge[key]]):
                yield (
                    f"edge {n}: {key} {'true' if new is True else 'negated'}",
                    _with(certificate, lambda c, n=n, k=key, t=new: _about(c)["edges"][n].update({k: t})),
                )
        for action in (*labels, None):
            if action != edge["action"]:
                yield (
                    f"edge {n}: action {action}",
                    _with(certificate, lambda c, n=n, a=action: _about(c)["edges"][n].update(action=a)),
                )
        for i, chosen in enumerate(edge["chosen"]):
            for end, step in ((1, -1), (2, 1), (2, -1)) if chosen[3] == "integer" else ():
                yield (
                    f"edge {n}: chosen {i} {end} {step:+}",
                    _with(
                        certificate,
                        lambda c, n=n, i=i, e=end, s=step: _add(_about(c)["edges"][n]["chosen"][i], e, s),
                    ),
                )
        for o, outcome in enumerate(edge["outcomes"]):
            yield (
                f"edge {n}: outcome {o} dropped",
                _with(certificate, lambda c, n=n, o=o: _about(c)["edges"][n]["outcomes"].pop(o)),
            )
            yield (
                f"edge {n}: outcome that changes nothing",
                _with(certificate, lambda c, n=n: _about(c)["edges"][n]["outcomes"].append([])),
            )
            for u in range(len(outcome)):
                yield (
                    f"edge {n}: update {o}/{u} dropped",
                    _with(certificate, lambda c, n=n, o=o, u=u: _about(c)["edges"][n]["outcomes"][o].pop(u)),
                )


def _policy(certificate: Mapping[str, Any]) -> Mutants:
    policy = _about(certificate)["policy"]
    for choose in ("argmax", "argmax-applicable", "sample"):
        if policy["actions"] and choose != policy["choose"]:
            yield (
                f"choose: {choose}",
                _with(certificate, lambda c, w=choose: _about(c)["policy"].update(choose=w)),
            )
    for key in ("actions", "observe"):
        if len(policy[key]) > 1:
            yield (
                f"policy: {key} reversed",
                _with(certificate, lambda c, k=key: _about(c)["policy"][k].reverse()),
            )


def _network(certificate: Mapping[str, Any]) -> Mutants:
    for n, node in enumerate((_about(certificate)["policy"]["network"] or {}).get("nodes", ())):
        for place in (4, 5) if node[0] == "affine" else ():
            numbers = struct.unpack(
                f"<{len(base64.b64decode(node[place])) // 4}f", base64.b64decode(node[place])
            )
            for i, old in enumerate(numbers):
                new = [*numbers[:i], -old if old else 1.0, *numbers[i + 1 :]]
                text = base64.b64encode(struct.pack(f"<{len(new)}f", *new)).decode()
                where = ("policy", "network", "nodes", n, place)
                yield (
                    f"network: node {n}, {'weight' if place == 4 else 'bias'} {i}",
                    _with(certificate, lambda c, p=where, t=text: _put(_about(c), p, t)),
                )


def _property(certificate: Mapping[str, Any]) -> Mutants:
    asked = _about(certificate)["property"]
    condition, steps = asked["condition"], asked.get("steps", 1)
    others = [
        {"kind": "never", "condition": condition},
        {"kind": "never", "condition": condition, "steps": steps},
        {"kind": "never", "condition": condition, "steps": steps + 1},
        {"kind": "eventually", "condition": condition},
        {"kind": "recurs", "condition": condition},
        *({"kind": "within", "condition": condition, "steps": steps, "after": a} for a in range(steps + 1)),
        {**asked, "condition": ["not", condition]},
    ]
    for other in others:
        if other != asked:
            words = " ".join(str(v) for k, v in other.items() if k != "condition")
            yield f"property: {words}", _with(certificate, lambda c, o=other: _about(c).update(property=o))
