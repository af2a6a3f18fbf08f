"""`compare`: the verdicts and rows of this tree beside the frozen ones."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from time import monotonic
from typing import TYPE_CHECKING, Any

from benchmarks.frozen.judge import KEPT, Judgement, judge_files

if TYPE_CHECKING:
    from benchmarks.frozen.beside import Beside
    from benchmarks.frozen.rows import Row

TOTAL, WORST, SMALL = 1.05, 1.3, 0.5  # ratios, and the seconds below which a row counts in the total only
MUCH = 10.0  # seconds; below, how long the checker or some rows take together says little
SUSPECT = 1.15  # above, a row is measured again
LONGER = 10.0  # times as long as the longest then, after which a certificate is given up


def compare(given: argparse.Namespace) -> int:
    begun = monotonic()
    wrong = []
    if given.certificates:
        wrong += compare_certificates(given)
    if given.rows:
        wrong += compare_rows(given)
    for line in wrong:
        print(f"DIFFERS: {line}")
    found = f"{len(wrong) or 'no'} difference{'' if len(wrong) == 1 else 's'}"
    print(f"{found}; compared in {monotonic() - begun:.0f} s")
    return 1 if wrong else 0


def read_frozen(file: Path) -> dict[str, Any]:
    if not file.is_file():
        raise SystemExit(f"error: {file}: there is no such file; fix: freeze a tree first, with `make`")
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


def compare_certificates(given: argparse.Namespace) -> list[str]:
    rows = read_frozen(given.folder / "verdicts.json")["certificates"]
    kept = [row for row in rows if given.only in f"{row['name']} {row['kind']} {row['source']} {row['rule']}"]
    if not kept:
        return [f"no certificate has `{given.only}` in its name, kind, source or rule"]
    seconds = LONGER * max(row["seconds"] for row in rows) + 10
    module = given.checker or tree_checker()
    names = [row["name"] for row in kept]
    found = dict(judge_files(module, given.folder / "certificates", names, seconds, given.jobs))
    then, now = (sum(one["seconds"] for one in several) for several in (kept, found.values()))
    accepted = sum(one["verdict"] == "accepted" for one in found.values())
    print(f"{len(kept)} certificates by {module}: {accepted} accepted")
    print(f"{now:.1f} s, then {then:.1f}: {now / then:.2f} times")
    wrong = [line for row in kept for line in differing_verdict(row, found[row["name"]])]
    if now > WORST * then and then >= MUCH:
        wrong.append(f"the checker takes {now / then:.2f} times as long as then")
    return wrong


def tree_checker() -> str:
    import surefoot_checker

    return surefoot_checker.__name__


def differing_verdict(row: Mapping[str, Any], found: Judgement) -> list[str]:
    """Accepted or refused, and of accepted ones what is claimed; the reason of a refusal is free."""
    about = f"{row['name']} ({row['kind']}; {row['source']}: {row['rule']})"[:200]
    if row["verdict"] != found["verdict"]:
        why = found.get("reason") or row.get("reason") or ""
        return [f"{about}: then {row['verdict']}, now {found['verdict']} {why}".rstrip()]
    if row["verdict"] != "accepted":
        return []
    return [f"{about}: `{k}` was {row[k]!r}, is {found[k]!r}" for k in KEPT if row[k] != found[k]]


def compare_rows(given: argparse.Namespace) -> list[str]:
    from benchmarks.frozen.beside import Beside
    from benchmarks.frozen.rows import find_rows, measure_rows, measure_speed
    from benchmarks.frozen.timing import load_program

    then = read_frozen(given.folder / "rows.json")
    shared = given.shared.resolve() if given.shared else then["shared"] and Path(then["shared"])
    old = {row["name"]: row for row in then["rows"] if given.only in row["name"]}
    load_program()
    rows = [row for row in find_rows(shared) if row.name in old]
    wrong = [f"{name}: there is no such row any more" for name in old.keys() - {row.name for row in rows}]
    cache = given.folder / "cache"
    machine = measure_speed(cache) / then["calibration"]
    with ExitStack() as stack:
        other = stack.enter_context(Beside(given.beside, given.folder, shared)) if given.beside else None
        seconds: dict[str, tuple[float, float]] = {}
        for row, timed in measure_rows(rows, cache):
            wrong += differing_facts(row.name, old[row.name], timed.facts)
            before = None if other is None else other.measure(row.name)
            seconds[row.name] = (old[row.name]["seconds"] if before is None else before, timed.seconds)
        for row in rows:
            if seconds[row.name][1] > SUSPECT * seconds[row.name][0] >= SUSPECT * SMALL:
                seconds[row.name] = measure_again(row, seconds[row.name], cache, other)
    return wrong + slower_rows(seconds, machine)


def measure_again(
    row: Row, seconds: tuple[float, float], cache: Path, other: Beside | None
) -> tuple[float, float]:
    """Twice more, in turns, of both trees if there are two."""
    from benchmarks.frozen.timing import run_once

    before, after = [seconds[0]], [seconds[1]]
    for _ in range(2):
        if other is not None and (more := other.measure(row.name, once=True)) is not None:
            before.append(more)
        after.append(run_once(row.work, cache).seconds)
    return median(before), median(after)


def differing_facts(name: str, row: Mapping[str, Any], facts: Mapping[str, Any]) -> list[str]:
    """All but what was not the same in several runs then."""
    then = row["facts"]
    keys = [key for key in dict.fromkeys([*then, *facts]) if key not in row["varies"]]
    changed = [key for key in keys if json.dumps(then.get(key)) != json.dumps(facts.get(key))]
    return [f"{name}: `{key}` was {then.get(key)}, is {facts.get(key)}" for key in changed]


def slower_rows(seconds: Mapping[str, tuple[float, float]], machine: float) -> list[str]:
    """Too slow, all together or one of them; prints the ratios. `machine`: work that no tree changes, now
    to then; it is told and changes nothing."""
    if not seconds:
        return ["no row was measured"]
    before, after = (sum(pair[i] for pair in seconds.values()) for i in (0, 1))
    large = {name: now / then for name, (then, now) in seconds.items() if then >= SMALL}
    print(f"{len(seconds)} rows: {after:.1f} s, then {before:.1f}: {after / before:.3f} times")
    print(f"work that no tree changes: {machine:.3f} times")
    for name, ratio in worst_rows(large):
        print(f"  {ratio:.2f} times ({seconds[name][0]:.2f} s then)  {name}")
    wrong = [f"{name}: {ratio:.2f} times as long as then" for name, ratio in large.items() if ratio > WORST]
    if after > TOTAL * before and before >= MUCH:
        wrong.append(f"all rows together: {after / before:.3f} times as long as then")
    return wrong


def worst_rows(ratios: Mapping[str, float], count: int = 8) -> Sequence[tuple[str, float]]:
    return sorted(ratios.items(), key=lambda one: -one[1])[:count]
