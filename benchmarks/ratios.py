"""From answers and times to ratios: other engine / native, with lower bounds marked."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

DECIDED = ("sat", "unsat")
COLUMNS = {
    "Marabou": ("marabou", "marabou-violation"),
    "HiGHS": ("highs",),
    "Z3": ("z3",),
    "SCIP": ("scip",),
    "Gurobi": ("gurobi",),
    "SCIP or Gurobi": ("scip", "gurobi"),
}


def truth(row: dict[str, Any]) -> str:
    """What is known for sure: an answer of the table, or a witness that replays, or that native decided."""
    if row["expected"]:
        return str(row["expected"])
    engines = row["engines"]
    if any(a["answer"] == "sat" and (n == "native" or a.get("replay") == "ok") for n, a in engines.items()):
        return "sat"
    answer = engines["native"]["answer"]
    return answer if answer in DECIDED else ""


def contradictions(row: dict[str, Any]) -> list[str]:
    """Engines whose answer is not the true one. Marabou's `sat` for whole numbers is one for reals."""
    sure = truth(row)
    relaxed = (
        {n for n in row["engines"] if n.startswith("marabou")}
        if row["family"].startswith("argmax")
        else set()
    )
    wrong = []
    for name, answer in row["engines"].items():
        given = answer["answer"]
        if sure and given in DECIDED and given != sure and not (name in relaxed and given == "sat"):
            wrong.append(name)
    return wrong


def ratio(row: dict[str, Any], names: Sequence[str]) -> tuple[float, bool] | None:
    """The better of some engines / native; True: only a lower bound. None: nothing to compare.

    An engine that answers wrongly is not counted; one that was stopped counts with the time it had.
    """
    native = row["engines"]["native"]
    wrong = contradictions(row)
    if native["answer"] not in DECIDED or "native" in wrong:
        return None
    answers = [row["engines"][n] for n in names if n in row["engines"] and n not in wrong]
    decided = [a["seconds"] for a in answers if a["answer"] in DECIDED]
    stopped = [a["seconds"] for a in answers if a["answer"] == "capped"]
    if decided:
        return min(decided) / native["seconds"], False
    return (min(stopped) / native["seconds"], True) if stopped else None


def table(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Medians for every family and column; what was also asked in another way has a line for that."""
    found = []
    ways = {"native-files": "with reading", "native-batch": "batch"}
    asked_so = [
        {**row, "family": f"{row['family']} ({ways[way]})", "engines": {**row["engines"], "native": answer}}
        for row in rows
        for way, answer in row["engines"].items()
        if way in ways
    ]
    rows = [*rows, *asked_so]
    for family in dict.fromkeys(row["family"] for row in rows):
        own = [row for row in rows if row["family"] == family]
        decided = [row for row in own if row["engines"]["native"]["answer"] in DECIDED]
        entry: dict[str, Any] = {"family": family, "rows": len(own), "native_decided": len(decided)}
        for title, names in COLUMNS.items():
            several = [r for row in own if (r := ratio(row, names)) is not None]
            both = [value for value, bound in several if not bound]
            entry[title] = summary(several)
            entry[title]["both_decided"] = len(both)
            entry[title]["median_of_both"] = median(both) if both else None
        found.append(entry)
    return found


def summary(several: Sequence[tuple[float, bool]]) -> dict[str, Any]:
    """The median; it is a lower bound if some lower bound is not above it."""
    if not several:
        return {"rows": 0, "median": None, "lower_bound": False}
    middle = median(value for value, _ in several)
    return {
        "rows": len(several),
        "median": middle,
        "lower_bound": any(bound and value <= middle for value, bound in several),
    }


def shown(entries: Sequence[dict[str, Any]]) -> str:
    """A Markdown table: median ratio (rows compared); `>` marks a lower bound."""
    lines = ["", "| family | rows | native decides | " + " | ".join(COLUMNS) + " |"]
    lines.append("|---" * (3 + len(COLUMNS)) + "|")
    for entry in entries:
        cells = [_cell(entry[title]) for title in COLUMNS]
        lines.append(
            f"| {entry['family']} | {entry['rows']} | {entry['native_decided']} | " + " | ".join(cells) + " |"
        )
    return "\n".join(lines)


def _cell(entry: dict[str, Any]) -> str:
    if entry["median"] is None:
        return "–"
    return f"{'>' if entry['lower_bound'] else ''}{number(entry['median'])} ({entry['rows']})"


def number(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"


def line(row: dict[str, Any]) -> str:
    """One line per question; contradictions cannot be overlooked."""
    cells = [f"{row['family']} {row['name']}".ljust(44)]
    cells += [_answer(name, answer) for name, answer in row["engines"].items()]
    text = "  ".join(cells)
    for name in contradictions(row):
        given = row["engines"][name]["answer"]
        text += f"\n!!! CONTRADICTION: {name} says {given} on `{row['name']}`, which is {truth(row)}"
    for name, answer in row["engines"].items():
        if answer.get("replay", "ok") != "ok":
            text += f"\n    witness of {name} does not replay"
    return text


def _answer(name: str, answer: dict[str, Any]) -> str:
    seconds = f"{'>' if answer['answer'] in ('capped', 'timeout') else ''}{answer.get('seconds', 0):.3f}"
    return f"{name} {answer['answer']} {seconds}"
