"""Ways to damage the proof in a certificate, or its text; the claim stays what it was, and true.

A mutation takes a copy of a certificate and changes it in place. It says in words what it changed, or returns
None if there is nothing of its kind to change.
"""

from __future__ import annotations

import random
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, TypeAlias
from zlib import compress, decompressobj

Certificate: TypeAlias = dict[str, Any]
Mutation: TypeAlias = Callable[[Certificate, random.Random], str | None]


def _case(certificate: Certificate, source: random.Random) -> dict[str, Any]:
    found: dict[str, Any] = source.choice(certificate["cases"])
    return found


def _of_kind(certificate: Certificate, source: random.Random, *kinds: str) -> list[Any] | None:
    steps = [s for case in certificate["cases"] for s in case["steps"] if s[0] in kinds]
    return source.choice(steps) if steps else None


def _factor(source: random.Random) -> Fraction:
    return source.choice(
        [Fraction(-1), Fraction(0), Fraction(1, 2), Fraction(2), Fraction(9, 8), Fraction(100)]
    )


def drop_step(certificate: Certificate, source: random.Random) -> str | None:
    steps = _case(certificate, source)["steps"]
    if not steps:
        return None
    return f"step {steps.pop(source.randrange(len(steps)))[0]} dropped"


def drop_tail(certificate: Certificate, source: random.Random) -> str | None:
    steps = _case(certificate, source)["steps"]
    if not steps:
        return None
    count = source.randint(1, min(3, len(steps)))
    del steps[-count:]
    return f"last {count} steps dropped"


def keep_some(certificate: Certificate, source: random.Random) -> str | None:
    steps = _case(certificate, source)["steps"]
    kept = [s for s in steps if source.random() < 0.7]
    if len(kept) == len(steps):
        return None
    steps[:] = kept
    return "about a third of the steps dropped"


def repeat_step(certificate: Certificate, source: random.Random) -> str | None:
    steps = _case(certificate, source)["steps"]
    if not steps:
        return None
    place = source.randrange(len(steps))
    steps.insert(source.randrange(len(steps) + 1), steps[place])
    return f"step {steps[place][0]} repeated elsewhere"


def swap_steps(certificate: Certificate, source: random.Random) -> str | None:
    steps = _case(certificate, source)["steps"]
    if len(steps) < 2:
        return None
    i, j = source.sample(range(len(steps)), 2)
    steps[i], steps[j] = steps[j], steps[i]
    return "two steps exchanged"


def change_multiplier(certificate: Certificate, source: random.Random) -> str | None:
    step = _of_kind(certificate, source, "drop", "exact", "cut")
    if step is None:
        return None
    multipliers = step[1][0][1] if step[0] == "cut" else step[2]
    rows = [row for key in ("atoms", "bounds") for row in multipliers.get(key, [])]
    if not rows:
        return None
    row = source.choice(rows)
    row[-1] = str(Fraction(row[-1]) * _factor(source))
    return "a multiplier changed"


def invent_multiplier(certificate: Certificate, source: random.Random) -> str | None:
    """Of an atom (perhaps of another set), a bound, or a cut that may not exist."""
    step = _of_kind(certificate, source, "drop", "exact", "cut")
    if step is None:
        return None
    multipliers = step[1][0][1] if step[0] == "cut" else step[2]
    atoms = max(len(case["atoms"]) for case in certificate["cases"])
    match source.randrange(3):
        case 0:
            row = [source.randrange(max(atoms, 1)), source.choice(["1", "1/8", "1000000"])]
            multipliers["atoms"] = [*multipliers.get("atoms", []), row]
        case 1:
            row = [source.randrange(6), source.randrange(3), source.choice(["1", "-1", "1/8"])]
            multipliers["bounds"] = [*multipliers.get("bounds", []), row]
        case _:
            multipliers["cut"] = source.choice(["1", "1/4"])
    return "a multiplier invented"


def change_sets_of_step(certificate: Certificate, source: random.Random) -> str | None:
    step = _of_kind(certificate, source, "drop", "exact", "point", "cut")
    if step is None:
        return None
    sets = step[1][0][0] if step[0] == "cut" else step[1]
    every = max(len(case["sets"]) for case in certificate["cases"])
    match source.randrange(3):
        case 0:
            sets.append(source.randrange(every))
        case 1:
            sets[:] = list(range(every))
        case _:
            sets[:] = [source.randrange(every)]
    return "a step speaks of other sets"


def change_split(certificate: Certificate, source: random.Random) -> str | None:
    step = _of_kind(certificate, source, "split")
    if step is None:
        return None
    match source.randrange(3):
        case 0:
            step[1] = source.randrange(6)
        case 1:
            step[2] = source.randrange(4)
        case _:
            step[3] = str(
                Fraction(step[3]) + source.choice([Fraction(1), Fraction(-1), Fraction(1, 8), Fraction(50)])
            )
    return "a split changed"


def widen_gap(certificate: Certificate, source: random.Random) -> str | None:
    """A threshold written in a way that invites reading it twice, or as an integer."""
    step = _of_kind(certificate, source, "split")
    if step is None:
        return None
    at = Fraction(step[3])
    step[3] = source.choice([int(at), f"{float(at):.3f}", str(at + Fraction(1, 2))])
    return "a threshold written otherwise"


def exchange_halves(certificate: Certificate, source: random.Random) -> str | None:
    steps = _case(certificate, source)["steps"]
    places = [i for i, s in enumerate(steps) if s[0] == "split"]
    if not places:
        return None
    place = source.choice(places)
    rest = steps[place + 1 :]
    middle = source.randint(0, len(rest))
    steps[place + 1 :] = rest[middle:] + rest[:middle]
    return "what follows a split exchanged"


def change_bound(certificate: Certificate, source: random.Random) -> str | None:
    step = _of_kind(certificate, source, "bound")
    if step is None or not step[2]:
        return None
    place = source.randrange(len(step[2]))
    if type(step[2][place]) is int:
        both = step[2][place]
        step[2][place] = source.choice([both ^ 1, source.randrange(8), [both >> 1, both & 1]])
        return "a bound step changed"
    row = step[2][place]
    match source.randrange(3):
        case 0:
            row[1] = 1 - row[1]
        case 1:
            row[0] = source.randrange(4)
        case _:
            row[2:] = [source.choice(["1", "-1", "1/1024"])]
    return "a bound step changed"


def change_slopes(certificate: Certificate, source: random.Random) -> str | None:
    step = _of_kind(certificate, source, "slopes")
    if step is None:
        return None
    word = step[2] or step[3] or ""
    raw = b64decode(word[1:] if word.startswith("~") else word)
    data = bytearray(decompressobj().decompress(raw) if word.startswith("~") else raw)
    if not data:
        return None
    data[source.randrange(len(data))] = source.choice([0, 1, 127, 128, 129, 200, 255])
    plain, stream = b64encode(bytes(data)).decode(), compress(bytes(data))
    cut_off = stream[: source.randrange(len(stream))]
    written = source.choice([plain, plain, "~" + b64encode(source.choice([stream, cut_off])).decode()])
    step[2], step[3] = source.choice([(written, None), (None, written), (written, written)])
    return "slopes changed"


def invent_slopes(certificate: Certificate, source: random.Random) -> str | None:
    steps = _case(certificate, source)["steps"]
    data = bytes(source.choice([0, 64, 128, 255]) for _ in range(source.choice([2, 3, 4, 6, 8])))
    step = [
        "slopes",
        source.randrange(8),
        b64encode(data).decode(),
        source.choice([None, b64encode(data).decode()]),
    ]
    steps.insert(source.randrange(len(steps) + 1), step)
    return "slopes invented"


def drop_set(certificate: Certificate, source: random.Random) -> str | None:
    """A way through the disjunctions that nobody refutes."""
    case = _case(certificate, source)
    if not case["sets"]:
        return None
    gone = source.randrange(len(case["sets"]))
    del case["sets"][gone]
    for step in case["steps"]:
        if step[0] in ("drop", "exact", "point"):
            step[1][:] = [s - (s > gone) for s in step[1] if s != gone]
        if step[0] == "cut":
            for entry in step[1]:
                entry[0][:] = [s - (s > gone) for s in entry[0] if s != gone]
    case["steps"] = [s for s in case["steps"] if s[0] not in ("drop", "exact", "point") or s[1]]
    return "a set left out, its steps too"


def change_set(certificate: Certificate, source: random.Random) -> str | None:
    case = _case(certificate, source)
    if not case["sets"]:
        return None
    chosen = source.choice(case["sets"])
    if chosen and source.random() < 0.5:
        chosen.pop(source.randrange(len(chosen)))
        return "an atom taken out of a set"
    chosen.append(source.randrange(max(len(case["atoms"]), 1)))
    return "an atom put into a set"


def change_atom(certificate: Certificate, source: random.Random) -> str | None:
    case = _case(certificate, source)
    if not case["atoms"]:
        return None
    atom = source.choice(case["atoms"])
    if source.random() < 0.4:
        atom[0] = source.choice([r for r in ("<=", "<", "=") if r != atom[0]])
        return "the relation of an atom changed, in the proof alone"
    name = source.choice(list(atom[1]))
    atom[1][name] = str(Fraction(atom[1][name]) * _factor(source) + source.choice([0, Fraction(1, 64)]))
    return "a number of an atom changed, in the proof alone"


def false_atom(certificate: Certificate, source: random.Random) -> str | None:
    """An atom that nothing satisfies, put into every set and used in every step."""
    case = _case(certificate, source)
    case["atoms"].append([source.choice(["<=", "<", "="]), {"": "1"}])
    for chosen in case["sets"]:
        chosen.append(len(case["atoms"]) - 1)
    for step in case["steps"]:
        if step[0] in ("drop", "exact"):
            step[2]["atoms"] = [[len(case["atoms"]) - 1, "1"]]
    return "an impossible atom in every set"


def drop_case(certificate: Certificate, source: random.Random) -> str | None:
    if not certificate["cases"]:
        return None
    certificate["cases"].pop(source.randrange(len(certificate["cases"])))
    return "a case dropped"


def change_choice(certificate: Certificate, source: random.Random) -> str | None:
    case = _case(certificate, source)
    if case.get("choose"):
        row = source.choice(case["choose"])
        row[source.randrange(2)] += source.choice([-1, 1])
        return "a choice changed"
    case["choose"] = [[source.randrange(2), source.randrange(2)]]
    return "a choice invented"


def invent_definition(certificate: Certificate, source: random.Random) -> str | None:
    case = _case(certificate, source)
    name = source.choice(certificate["claim"].get("variables") or [["X_0"]])[0]
    case["define"] = [*case.get("define", []), [name, source.randrange(3)]]
    return "a definition invented"


def another_step(certificate: Certificate, source: random.Random) -> str | None:
    """A drop turned into an exact step or a claim about a point."""
    step = _of_kind(certificate, source, "drop")
    if step is None:
        return None
    if source.random() < 0.5:
        step[0] = "exact"
    else:
        step[:] = ["point", step[1]]
    return f"a drop turned into {step[0]}"


def wrong_type(certificate: Certificate, source: random.Random) -> str | None:
    """Some place in the proof holds something else."""
    places = list(_places(certificate["cases"]))
    if not places:
        return None
    holder, key = source.choice(places)
    holder[key] = source.choice(
        [None, True, -1, 10**30, 0.5, "x", "", [], {}, [[]], "1e999", "0x", "1/0", "nan"]
    )
    return "a value of the wrong type in the proof"


def _places(data: Any) -> Iterator[tuple[Any, Any]]:
    waiting = [data]
    while waiting:
        holder = waiting.pop()
        for key in list(holder) if isinstance(holder, dict) else range(len(holder)):
            yield holder, key
            if isinstance(holder[key], dict | list):
                waiting.append(holder[key])


def damaged_text(text: str, source: random.Random) -> tuple[str, str]:
    """The file cut off, with some characters replaced, or with a key twice."""
    match source.randrange(3):
        case 0:
            return text[: source.randrange(len(text))], "the file is cut off"
        case 1:
            characters = list(text)
            for _ in range(source.randint(1, 3)):
                characters[source.randrange(len(characters))] = source.choice('0123456789"[]{},-/ax')
            return "".join(characters), "some characters replaced"
        case _:
            key = source.choice(["cases", "arithmetic", "claim"])
            value = {"cases": "[]", "arithmetic": '"real"', "claim": "{}"}[key]
            return text[:-1] + f', "{key}": {value}' + "}", f"`{key}` twice"


PROOF: tuple[Mutation, ...] = (
    drop_step,
    drop_tail,
    keep_some,
    repeat_step,
    swap_steps,
    change_multiplier,
    invent_multiplier,
    change_sets_of_step,
    change_split,
    widen_gap,
    exchange_halves,
    change_bound,
    change_slopes,
    invent_slopes,
    drop_set,
    change_set,
    change_atom,
    false_atom,
    drop_case,
    change_choice,
    invent_definition,
    another_step,
    wrong_type,
)
