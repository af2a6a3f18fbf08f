"""What surefoot says, run as a user would run it, held against the oracle's truth."""

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from tests.laws.oracle.graph import Graph, TooLargeError, explore
from tests.laws.oracle.meaning import AmbiguousError, Meaning
from tests.laws.oracle.model import Model
from tests.laws.oracle.questions import (
    AboutChance,
    AboutRuns,
    ChanceTruth,
    Question,
    Value,
    judge_chance,
    judge_runs,
)
from tests.laws.oracle.runs import RunTruth
from tests.laws.oracle.terms import UndefinedError
from tests.laws.oracle.traces import read_state

from surefoot.cli import main

DOCUMENTED = [  # by the table of refusals in docs/reference/jani.md; the last one by statistics.md
    "on which it depends, has changed",
    "a reward that is set after the variables it depends on have changed",
    "a policy has to choose among them, or let each of them be equally likely",
    "there is no start state",  # of `statistical`; the portfolio says vacuous
    "divides by zero; fix: divide by something else",  # a constant divisor: no valid file
    "the policy draws its action, so that a state does not say what is chosen",  # syntax.md, on `chosen`
    "; fix: it goes from 0 to ",  # a constant index outside of its array: no valid file
]
TOLERANCE = Fraction(1, 10**9)


@dataclass(frozen=True)
class Finding:
    """`wrong`, `refused`, `missed` (an estimate), `loose`, `odd` or `failed`."""

    kind: str
    what: str


@dataclass(frozen=True)
class Answer:
    """What the command said about one question."""

    code: int
    result: dict[str, Any] | None  # None: an error, and `message` has it
    message: str = ""

    @property
    def verdict(self) -> dict[str, Any]:
        assert self.result is not None
        found = self.result["verdict"]
        assert isinstance(found, dict)
        return found


@dataclass
class Truth:
    """The truth of a question by lowest index, and with all exact ties of the network left open."""

    plain: RunTruth | ChanceTruth
    widened: RunTruth | None = None


@dataclass
class Case:
    """A problem that the oracle has looked at."""

    model: Model
    questions: list[Question]
    graph: Graph
    truths: list[Truth | None] = field(default_factory=list)  # None: the documentation does not decide


def look_at(model: Model, questions: list[Question], most: int = 1500) -> Case | None:
    """The truth of every question; None where there are too many states."""
    try:
        meaning = Meaning(model)
        graph = explore(meaning, most=most)
        ties = any(node.ties for node in graph.nodes) and model.policy is not None
        wide = explore(meaning, widened=True, most=most) if ties else None
    except (TooLargeError, AmbiguousError):
        return None
    case = Case(model, questions, graph)
    for question in questions:
        try:
            if isinstance(question, AboutChance):
                found = judge_chance(graph, question)
                drawn = (
                    model.policy is not None and model.policy.choose == "sample"
                )  # by rounded exponentials
                case.truths.append(Truth(replace(found, exact=found.exact and not drawn)))
            else:
                widened = None if wide is None else judge_runs(wide, question)
                case.truths.append(Truth(judge_runs(graph, question), widened))
        except (AmbiguousError, UndefinedError):  # the latter: a reward without a value somewhere
            case.truths.append(None)
    return case


def run_command(arguments: list[str]) -> tuple[int, str, str]:
    """The exit code and both outputs of a command, run in this process."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    code: object = 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main(arguments)
        except SystemExit as exit_code:
            code = exit_code.code
    texts = [stream.buffer.getvalue().decode() for stream in (out, err)]  # type: ignore[attr-defined]
    return (code if isinstance(code, int) else 0), texts[0], texts[1]


def run_check(path: Path, names: list[str], options: list[str]) -> list[Answer]:
    """One command about some properties of a file; an error is the answer to each of them."""
    asked = [part for name in names for part in ("--property", name)]
    code, out, err = run_command(["check", str(path), *asked, "--json", "-", "--quiet", *options])
    try:
        said = json.loads(out)
    except ValueError:
        return [Answer(code, None, (err or out).strip())] * len(names)
    results = said.get("results", [said])
    return [Answer(code, result) for result in results]


def compare(case: Case, question: Question, truth: Truth, answer: Answer) -> list[Finding]:
    """What is wrong with an answer, if anything."""
    if answer.result is None:
        if any(words in answer.message for words in DOCUMENTED):
            return [Finding("documented refusal", answer.message)]
        return [Finding("failed" if answer.code == 4 else "refused", answer.message)]
    if isinstance(question, AboutRuns):
        assert isinstance(truth.plain, RunTruth)
        return list(compare_runs(question, truth.plain, truth.widened, answer))
    assert isinstance(truth.plain, ChanceTruth)
    return compare_chance(Meaning(case.model), question, truth.plain, answer)


def compare_runs(
    question: AboutRuns, truth: RunTruth, widened: RunTruth | None, answer: Answer
) -> list[Finding]:
    verdict, kind = answer.verdict, answer.verdict["kind"]
    found = []
    whole = kind == "proved" or (kind == "holds" and (verdict["up_to"] is None or verdict.get("as_asked")))
    if whole:
        if truth.violated:
            found.append(Finding("wrong", f"{kind}, but some run violates it"))
        elif truth.trouble:
            found.append(Finding("wrong", f"{kind}, but some run comes to something undefined"))
        elif truth.vacuous:
            found.append(Finding("odd", f"{kind}, but nothing satisfies the premise"))
        elif widened is not None and widened.violated:
            found.append(Finding("wrong", f"{kind}, but an equal output leads to a violation"))
    elif kind == "holds":
        if truth.depth is not None and truth.depth <= verdict["up_to"]:
            found.append(
                Finding("wrong", f"holds up to {verdict['up_to']}, but violated after {truth.depth}")
            )
    elif kind == "violated":
        if not truth.violated and not truth.trouble:  # beside an error `look_closer` follows the trace itself
            found.append(Finding("wrong", "violated, but no run violates it"))
    elif kind == "vacuous":
        by_form = "condition" in verdict["why"] and not truth.violated
        if not truth.vacuous and not by_form:
            found.append(Finding("wrong", f"vacuous ({verdict['why']}), but there are runs"))
    elif kind != "unknown":
        found.append(Finding("odd", f"a verdict of kind {kind}"))
    codes = {"proved": {0}, "violated": {1}, "vacuous": {3}, "unknown": {3}, "holds": {0, 3}}
    if answer.code not in codes.get(kind, {0, 1, 3}) | {-1}:
        found.append(Finding("odd", f"exit code {answer.code} of a verdict {kind}"))
    return found


def parse_number(text: Any) -> Value:
    if text == "infinite":
        return None
    if "/" in text:
        above, below = text.split("/")
        return Fraction(above) / Fraction(below)
    return Fraction(text)


def fold(over: str, pairs: list[tuple[Value, Value]]) -> tuple[Value, Value]:
    """How the values of several starts are combined: the interval from least to greatest."""
    sides = []
    for side in ([a for a, _ in pairs], [b for _, b in pairs]):
        finite = [x for x in side if x is not None]
        if over == "min":
            sides.append(min(finite) if finite else None)
        elif len(finite) < len(side):
            sides.append(None)
        elif over == "max":
            sides.append(max(finite))
        else:
            sides.append(sum(finite, Fraction(0)) / (len(finite) if over == "avg" else 1))
    return sides[0], sides[1]


def below(a: Value, b: Value, slack: Fraction = Fraction(0)) -> bool:
    """a <= b, where None is infinite."""
    return b is None or (a is not None and a <= b + slack)


def compare_chance(
    meaning: Meaning, question: AboutChance, truth: ChanceTruth, answer: Answer
) -> list[Finding]:
    verdict, kind = answer.verdict, answer.verdict["kind"]
    if kind == "unknown":
        return []
    if not truth.starts:
        return [] if kind == "vacuous" else [Finding("odd", f"{kind}, but there is no start")]
    if kind == "vacuous":
        return [Finding("wrong", f"vacuous ({verdict['why']}), but there are starts")]
    if truth.trouble:
        if kind == "estimated" and verdict.get("counts", {}).get("runs", 0) == 0:
            return []  # the time ended before the first run: all that can be is in the interval
        return [Finding("wrong", f"{kind}, but some run comes to something undefined")]
    pairs = [pair for _, pair in truth.starts]
    slack = Fraction(0) if truth.exact else TOLERANCE
    if kind == "per-start":
        found = compare_table(meaning, question, truth, verdict["table"], slack)
        if question.compare is not None and answer.code in (0, 1):
            met = {meets(question.compare, x) for pair in pairs for x in pair}
            if met != {answer.code == 0} and (answer.code == 0 or (True in met and False not in met)):
                found.append(Finding("odd", f"exit code {answer.code}, but the threshold is met: {met}"))
        return found
    if kind not in ("exact", "estimated"):
        return [Finding("odd", f"a verdict of kind {kind}")]
    if question.over == "count":
        return compare_count(question, pairs, verdict)
    expected = fold(question.filter, pairs)
    found = contains(verdict, expected, slack)
    if question.compare is not None and answer.code != -1 and kind == "exact":
        met = {meets(question.compare, x) for x in expected}
        if (answer.code == 0 and met != {True}) or (answer.code == 1 and met != {False}):
            found.append(Finding("wrong", f"exit code {answer.code}, but the value is in {show(expected)}"))
    return found


def meets(compare: tuple[str, Fraction], value: Value) -> bool:
    op, c = compare
    if value is None:
        return op in (">=", ">")
    return {">=": value >= c, ">": value > c, "<=": value <= c, "<": value < c}[op]


def compare_count(
    question: AboutChance, pairs: list[tuple[Value, Value]], verdict: dict[str, Any]
) -> list[Finding]:
    assert question.compare is not None
    sure = sum(all(meets(question.compare, x) for x in pair) for pair in pairs)
    possible = sum(any(meets(question.compare, x) for x in pair) for pair in pairs)
    low, high = parse_number(verdict["low"]), parse_number(verdict["high"])
    if below(low, Fraction(sure)) and below(Fraction(possible), high):
        return []
    return [Finding("wrong", f"a count in [{low}, {high}], but it is {sure} to {possible}")]


def contains(verdict: dict[str, Any], expected: tuple[Value, Value], slack: Fraction) -> list[Finding]:
    low, high = parse_number(verdict["low"]), parse_number(verdict["high"])
    if below(low, expected[0], slack) and below(expected[1], high, slack):
        a, b = expected
        if (
            verdict["kind"] == "exact"
            and a is not None
            and b is not None
            and low is not None
            and high is not None
        ):
            reach = Fraction(1, 10**5)
            if low < a - reach * (1 + abs(a)) or high > b + reach * (1 + abs(b)):
                return [Finding("loose", f"[{float(low)}, {float(high)}] around {show(expected)}")]
        return []
    kind = "missed" if verdict["kind"] == "estimated" else "wrong"
    shown = f"[{shorten(low)}, {shorten(high)}]"
    return [Finding(kind, f"{verdict['kind']} {shown}, but the truth is {show(expected)}")]


def compare_table(
    meaning: Meaning, question: AboutChance, truth: ChanceTruth, table: list[dict[str, Any]], slack: Fraction
) -> list[Finding]:
    """One interval for each start; with `argmin` and `argmax` only for those that have the best value."""
    expected = dict(truth.starts)
    given = {read_state(meaning, entry["start"]): entry["verdict"] for entry in table}
    kinds = {verdict["kind"] for verdict in given.values()}
    if len(given) != len(table) or not given.keys() <= expected.keys():
        return [Finding("wrong", "a table with other starts")]
    if question.over == "values":
        missing = expected.keys() - given.keys()
    else:
        side = 0 if question.over == "argmin" else 1
        best = fold("min" if side == 0 else "max", list(expected.values()))[side]
        missing = {s for s, pair in expected.items() if pair[side] == best} - given.keys()
    if missing and slack == 0:
        return [Finding("wrong", f"{len(missing)} starts are missing")]
    if kinds != {"exact"}:
        return [] if kinds == {"estimated"} else [Finding("odd", f"a table of {kinds}")]
    return [finding for s, verdict in given.items() for finding in contains(verdict, expected[s], slack)]


def show(pair: tuple[Value, Value]) -> str:
    texts = [shorten(x) for x in pair]
    return texts[0] if texts[0] == texts[1] else " to ".join(texts)


def shorten(value: Value) -> str:
    if value is None:
        return "infinite"
    return str(value) if value.denominator < 10**6 else f"{float(value):.12g}"
