"""Certificates of benchmarks that try to deceive the checker: forged, mutated, tampered with."""

from __future__ import annotations

import copy
import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import count, islice
from pathlib import Path
from random import Random

from tests.laws.automata_networks import automata_network, predicates

from benchmarks import mutants, tampered_shields
from benchmarks.forgery.__main__ import KINDS as FORGERIES
from benchmarks.frozen.damage import damage
from benchmarks.frozen.stored import Content, Made, find_files
from benchmarks.mutation import closed_sets, executions, files, parts, rows
from benchmarks.mutation.claims import read_claim
from benchmarks.mutation.execution_aids import abused
from benchmarks.mutation.producer import BUGS, GaveUp, produce
from benchmarks.mutation.truth import find_witness
from surefoot.engines.predicates import Predicates

SHARES = {True: 0.5, False: 0.5, None: 0.3}  # of the forged certificates of a kind, by the truth of the claim
DRAWS = 50  # systems, at most, that forged certificates of a kind are about
EACH = 4  # forged certificates of one rule
TRUTH = {"true": True, "false": False}


def forge_certificates(kind: str, number: int, seed: int) -> Iterator[Made]:
    """Of `benchmarks.forgery`, few of each rule."""
    draw = Random(f"{kind} {seed}")
    taken: Counter[object] = Counter()
    seen: set[str] = set()
    for _ in range(DRAWS):
        for rule, certificate, true in FORGERIES[kind](draw):
            text = json.dumps(certificate)
            fits = taken[true] < SHARES[true] * number and (true or taken[rule, true] < EACH)
            if fits and text not in seen:
                seen.add(text)
                taken[true] += 1
                taken[rule, true] += 1
                yield Made(f"forgery, {kind}", rule, text, true)
        if sum(taken[true] for true in SHARES) >= number:
            return


def mutate_proofs(bases: int, number: int, seed: int) -> Iterator[Made]:
    """Of `benchmarks.mutants`: proofs about queries, written out or read from files, and their mutants."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pool = list(mutants.bases(bases, seed, folder))
        for base in pool:
            text = json.dumps(base.certificate)
            yield Made("mutants, base", base.name, text, True, _read_named(text, base.folder))
        for mutant in mutants.mutants(pool, number, seed, folder):
            rule = f"{mutant.base}: {' + '.join(mutant.changes)}"
            known = mutants.judge(mutant, thorough=False)[0]
            yield Made("mutants", rule, mutant.text, known, _read_named(mutant.text, mutant.folder))


def _read_named(text: str, folder: Path | None) -> dict[str, bytes]:
    """The two files of a claim, if a certificate names them."""
    if folder is None:
        return {}
    names = (files.NETWORK, files.PROPERTY)
    return {n: (folder / n).read_bytes() for n in names if json.dumps(n) in text and (folder / n).is_file()}


def plant_bugs(number: int, seed: int) -> Iterator[Made]:
    """False claims, certified by a producer with a bug."""
    for turn in count(seed * 1_000_003 + 1):
        bug = BUGS[turn % len(BUGS)]
        try:
            written, arithmetic = mutants.planted_question(turn, bug)
            certificate = produce(written, arithmetic, turn, frozenset({bug}))
        except GaveUp:
            continue
        if find_witness(read_claim(written, arithmetic), turn) is not None:
            yield Made("planted bug", bug, json.dumps(certificate), False)
            number -= 1
        if number == 0:
            return


def mutate_published(data: Path, number: int, seed: int) -> Iterator[Made]:
    """Certificates about published networks and properties, and their mutants."""
    draw, every = Random(seed), list(rows.published(data))
    pool: list[tuple[rows.Row, Content]] = []
    for family, wanted in mutants.ROWS.items():
        for row in every:
            if wanted and row.answer == "unsat" and row.name.startswith(family):
                certificate = rows.certified(row, 2.0)
                if certificate is not None and len(json.dumps(certificate)) < mutants.MOST_CHARACTERS:
                    pool.append((row, certificate))
                    named = find_files(certificate, Path())
                    yield Made("published query", row.name, json.dumps(certificate), True, named)
                    wanted -= 1
    with tempfile.TemporaryDirectory() as name:
        home = Path(name) / "mutant"
        for _ in range(number if pool else 0):
            row, certificate = draw.choice(pool)
            family = row.name.split("/")[0]
            others = [r for r in every if r.answer == "sat" and r.name.startswith(family)]
            mutant, true, what = rows.mutated(row, certificate, others, home, draw)
            text = json.dumps(mutant)
            yield Made("published query, mutant", f"{row.name}: {what}", text, true, _read_named(text, home))


def mutate_executions(number: int, seed: int) -> Iterator[Made]:
    """Of `benchmarks.mutation.executions`: also with old proofs under new names, and with aids abused."""
    return islice(_mutate_executions(seed), number)


def _mutate_executions(seed: int) -> Iterator[Made]:
    for system in count(100 * seed):
        for kind, problem, whole in executions.bases(system):
            yield Made("executions, base", kind, json.dumps(whole), True)
            chosen = list(executions.mutants_of(whole, system, 60))
            for family, name, mutant, suits in Random(system).sample(chosen, min(8, len(chosen))):
                true = TRUTH.get(executions.truth(mutant))
                yield Made("executions", f"{family}: {name}", json.dumps(mutant), true)
                if (other := executions.relabelled(mutant)) not in (None, mutant):
                    yield Made("executions, relabelled", f"{family}: {name}", json.dumps(other), true)
                if suits and true is False:
                    for liar in islice(abused(problem, mutant), 2):
                        yield Made(
                            "executions, aid abused", f"{family}: {name}", json.dumps(liar), _truth(liar)
                        )


def _truth(certificate: Content) -> bool | None:
    return TRUTH.get(executions.truth(certificate))


def mutate_closed_sets(number: int, seed: int) -> Iterator[Made]:
    """Of `benchmarks.mutation.closed_sets`."""
    return islice(_mutate_closed_sets(seed), number)


def _mutate_closed_sets(seed: int) -> Iterator[Made]:
    for system in count(100 * seed):
        content = closed_sets.base(system)
        if content is None:
            continue
        yield Made("closed sets, base", f"system {system}", json.dumps(content), True)
        chosen = list(closed_sets.damaged(content, Random(system)))
        for family, mutant in Random(system).sample(chosen, min(7, len(chosen))):
            true = TRUTH.get(closed_sets.truth(mutant["claim"]["problem"]))
            yield Made("closed sets", family, json.dumps(mutant), true)


def mutate_parts(number: int, seed: int) -> Iterator[Made]:
    """Of `benchmarks.mutation.parts`."""
    return islice(_mutate_parts(seed), number)


def _mutate_parts(seed: int) -> Iterator[Made]:
    for system in count(100 * seed + 100):
        problem = automata_network(system)
        engine = Predicates(predicates(system, problem), means="cells")
        whole = parts.by_parts(problem, engine) if engine.objection(problem) is None else None
        if whole is None or parts.truth(whole) == "not known":
            continue
        yield Made("parts, base", f"system {system}", json.dumps(whole), True)
        chosen = list(parts.mutants(whole, system))
        for family, mutant in Random(system).sample(chosen, min(4, len(chosen))):
            true = TRUTH.get(parts.truth(mutant))
            several = list(parts.liars(problem, whole, mutant, anew=False)) if true is False else [mutant]
            for one in Random(system).sample(several, min(2, len(several))):
                yield Made("parts", family, json.dumps(one), true)


def tamper_with_shields(names: tuple[str, ...], number: int, seed: int) -> Iterator[Made]:
    """Of `benchmarks.tampered_shields`."""
    bases = []
    for name in names:
        bases.append(tampered_shields.base(name))
        yield Made("tampering, base", name, json.dumps(bases[-1]), True)
    for changes, _, data in tampered_shields.mutants(bases, number, seed):
        yield Made("tampering", changes, json.dumps(data))


def damage_certificates(certificates: list[Made], each: int, seed: int) -> Iterator[Made]:
    """Damage that fits all kinds, of certificates that the program itself wrote."""
    for number, made in enumerate(certificates):
        draw, content = Random(f"{seed} {number}"), json.loads(made.text)
        for _ in range(each):
            what, text = damage(copy.deepcopy(content), draw)
            yield Made(f"damage, {made.source}", what, text, None, made.files)


SOURCES: Mapping[str, Callable[[int, Path | None], Iterator[Made]]] = {
    **{
        f"forgery, {kind}": lambda seed, _, kind=kind: forge_certificates(kind, 110, seed)  # type: ignore[misc]
        for kind in FORGERIES
    },
    "mutants": lambda seed, _: mutate_proofs(32, 180, seed),
    "planted bugs": lambda seed, _: plant_bugs(48, seed),
    "published queries": lambda seed, data: mutate_published(data, 40, seed) if data else iter(()),
    "executions": lambda seed, _: mutate_executions(220, seed),
    "closed sets": lambda seed, _: mutate_closed_sets(110, seed),
    "parts": lambda seed, _: mutate_parts(100, seed),
    "tampering": lambda seed, _: tamper_with_shields(
        (*tampered_shields.BASES, *tampered_shields.POLYHEDRA), 90, seed
    ),
}
