"""A result as text for people: the verdict first, then its evidence, then what it rests on."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from itertools import pairwise

from surefoot.problem.problem import Problem
from surefoot.problem.property import Eventually, Property, Recurs, Timed, Within
from surefoot.problem.property_printer import show_property
from surefoot.problem.semantics import State
from surefoot.report.fault_text import fault_lines
from surefoot.report.inventory import describe_method
from surefoot.report.run_table import format_number, show_moment
from surefoot.report.run_text import trace_lines
from surefoot.report.search_report import search_lines, starts_headline
from surefoot.report.violation.witness_table import witness_rows
from surefoot.term.arguments import take_instance
from surefoot.term.lexer import shorten_text
from surefoot.term.printer import show_term
from surefoot.verdict.artifact import Invariant, SafeStarts, TippingPoint
from surefoot.verdict.sentences import count_noun, cut_term, round_long_numbers
from surefoot.verdict.threshold import answer_threshold, best_start_reminder
from surefoot.verdict.verdict import (
    Certificate,
    Estimated,
    Exact,
    Found,
    Holds,
    PerStart,
    Proved,
    Result,
    Trace,
    Unknown,
    Vacuous,
    Verdict,
    Violated,
)
from surefoot.visible import join_visible

BECAUSE = "because   "
MOST_STARTS = 12  # with their values, in a text

FINITE_RUNS: dict[type, str] = {
    Within: "a run that ends (deadlock, stall) violates the property unless it has seen a good state in time",
    Eventually: "a run that ends (deadlock, stall) violates the property unless it has seen a good state",
    Recurs: "a run that ends (deadlock, stall) violates the property unless its last state is good",
}


def note_on_ends(asked: Property) -> str:
    """What a run that ends means for the property; empty: nothing special."""
    kind = Within if isinstance(asked, Timed) and isinstance(asked.asked, Eventually) else type(asked)
    return FINITE_RUNS.get(kind, "")


FLOW_STATES = "its start is exact, later states are close to those of the run"


def render(problem: Problem, result: Result) -> str:
    """The whole result; every line ends without trailing space.

    >>> from surefoot import load, render, verify
    >>> problem = load("toy.toml", property="below_ten")
    >>> render(problem, verify(problem, "bmc")).splitlines()[0]
    'violated after 2 steps: never output[0] >= 10'
    """
    take_instance(Problem)(problem)
    take_instance(Result)(result)
    asked = show_property(problem.property)  # with a map inside it may fill pages
    lines = [f"{verdict_headline(problem, result)}: {cut_term(asked)}"]
    if (short := round_long_numbers(asked)) != asked:
        lines.append(f"  rounded   {cut_term(short)}")
    lines.append(f"  problem   {result.problem}")
    for line in evidence_lines(problem, result):
        lines += [f"  {part}" for part in _break_between_engines(line)]
    lines += [f"  {line}" for line in fault_lines(problem, result.fault)]
    lines += [f"  {line}" for line in _witness_lines(problem, result)]
    if isinstance(result.verdict, PerStart):
        lines += [f"  start     {line}" for line in _start_lines(problem, result.verdict)]
    if isinstance(result.verdict, Proved | Violated | Holds | Unknown):
        lines += [f"  {line}" for line in search_lines(result.verdict.artifact)]
    lines.append(f"  engine    {describe_method(result.engine)}")
    lines.append(f"  meaning   {result.arithmetic}; seed {result.seed}; {result.seconds:.2f} s")
    if ends := note_on_ends(problem.property):
        lines.append(f"  note      {ends}")
    if reminder := best_start_reminder(problem.property, problem.environment):
        lines.append(f"  note      {reminder}")
    lines += [f"  note      {note}" for note in result.notes]
    lines += [f"  input     {path} sha256 {digest[:16]}…" for path, digest in result.inputs.items()]
    return join_visible(lines)


def _break_between_engines(line: str) -> list[str]:
    """What each engine says about an unknown answer on a line of its own."""
    if not line.startswith(BECAUSE):
        return [line]
    from surefoot.engines import ENGINES  # with all that they need

    names = "|".join(ENGINES)
    begins = re.compile(rf"; (?=(?:{names}): )")
    places = [m.start() for m in begins.finditer(line) if not _is_inside_brackets(line[: m.start()])]
    cuts = [0, *(place + len("; ") for place in places), len(line) + len("; ")]
    parts = [line[a : b - len("; ")] for a, b in pairwise(cuts)]
    return [parts[0], *(" " * len(BECAUSE) + part for part in parts[1:])]


def _is_inside_brackets(text: str) -> bool:
    return text.count("(") > text.count(")")


def _witness_lines(problem: Problem, result: Result) -> list[str]:
    """A table of all runs that were found, where several were asked for."""
    if len(result.witnesses) < 2:
        return []
    rows = [("run", "start", "steps", "violated"), *witness_rows(problem, result.witnesses)]
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    head = (
        f"witnesses {len(result.witnesses)}, each replayed with zero tolerance; the first is the trace above"
    )
    return [
        head,
        *(f"{n.rjust(widths[0])}  {s.ljust(widths[1])}  {k.rjust(widths[2])}  {v}" for n, s, k, v in rows),
    ]


def verdict_headline(problem: Problem, result: Result) -> str:
    """The verdict in a few words; a threshold is answered first."""
    answer = answer_threshold(problem.property, result.verdict)
    words = in_few_words(result.verdict)
    return words if answer is None else f"{answer} ({words.replace(' (not certified)', ', not certified')})"


def in_few_words(verdict: Verdict) -> str:
    """What was found, whatever was asked."""
    match verdict:
        case Proved(certificate, arithmetic):
            how = [] if arithmetic == "proved" else ["real arithmetic"]
            how += _proof_argument(certificate)
            return f"proved ({', '.join(how)})" if how else "proved"
        case Violated(Trace(_, moves, int(loop))):
            return f"violated by a run that returns after {count_noun(len(moves), 'step')} to state {loop}"
        case Violated(Trace(_, moves, _, regions)) if regions:
            return f"violated by a run that stays in a set of states after {count_noun(len(moves), 'step')}"
        case Violated(Trace(times=(*_, last))):
            return f"violated at time {show_moment(last)}"
        case Violated(trace):
            return f"violated after {count_noun(len(trace.moves), 'step')}"
        case Holds(up_to, how=how):
            if up_to is None:
                return f"holds ({how or 'all runs examined'}, not certified)"
            return f"holds up to {count_noun(up_to, 'step')} ({how + ', ' if how else ''}not certified)"
        case Estimated(low, high, confidence):
            ends = f"{decimal_text(low, ROUND_FLOOR, 6)}, {decimal_text(high, ROUND_CEILING, 6)}"
            return f"estimated in [{ends}] with confidence {decimal_text(confidence, ROUND_FLOOR, 6)}"
        case Exact(low, high, certificate, stop):
            cut = f", wider than asked for: {stop}" if stop else ""
            return describe_interval(low, high) + (
                "" if certificate is not None else f" (not certified{cut})"
            )
        case Found(TippingPoint(statement)):
            return f"found {statement}"
        case Found(Invariant(condition)):
            return f"found the invariant {show_term(condition)}"
        case Found(SafeStarts() as sorted_starts):
            return starts_headline(sorted_starts)
        case Found(artifact):
            return f"found {type(artifact).__name__}"
        case PerStart(table):
            return f"{len(table)} starts"
        case Vacuous():
            return "vacuous"
        case Unknown(reason):
            return f"unknown ({reason.value})"


MOST_DIGITS = 12


def _start_lines(problem: Problem, found: PerStart) -> list[str]:
    """The first starts with their values, told by the variables in which they differ."""
    first = found.table[0][0]
    names = [n for n in first if any(state[n] != first[n] for state, _ in found.table)] or list(first)
    told = []
    for state, verdict in found.table[:MOST_STARTS]:
        where = ", ".join(f"{n} = {format_number(state[n])}" for n in names if not n.startswith("@"))
        answer = answer_threshold(problem.property, verdict)
        answered = "" if answer is None else f", {answer}"
        match verdict:
            case Exact(low, high):
                told.append(f"{where}: {describe_interval(low, high)}{answered}")
            case Estimated(low, high, confidence):
                told.append(f"{where}: {describe_interval(low, high)} at {float(confidence):.4g}{answered}")
            case Unknown(reason):
                told.append(f"{where}: unknown ({reason.value})")
    if (rest := len(found.table) - MOST_STARTS) > 0:
        told.append(f"… and {rest} more; --json has them, `surefoot heatmap` draws them")
    return told


def describe_interval(low: Fraction | None, high: Fraction | None) -> str:
    """An interval in words; both ends rounded outward, to as many digits as count. None is infinity."""
    if low is None:
        return "infinite"
    if high is None:
        return f"at least {decimal_text(low, ROUND_FLOOR)}"
    if low == high:
        short = str(low)
        near = f"about {decimal_text(low, ROUND_FLOOR)}"
        return f"exactly {short}" if len(short) <= 12 else f"exactly {shorten_text(short, 60)} ({near})"
    digits = _significant_digits(low, high)
    return f"between {decimal_text(low, ROUND_FLOOR, digits)} and {decimal_text(high, ROUND_CEILING, digits)}"


def _significant_digits(low: Fraction, high: Fraction) -> int:
    """Up to the second digit in which the ends differ: further ones say nothing about the value."""
    largest = Decimal(decimal_text(max(abs(low), abs(high)), ROUND_CEILING))
    width = Decimal(decimal_text(high - low, ROUND_FLOOR))
    return min(MOST_DIGITS, max(2, largest.adjusted() - width.adjusted() + 2))


def decimal_text(value: Fraction, rounding: str, digits: int = MOST_DIGITS) -> str:
    """A decimal of so many digits on one side of the value."""
    context = Context(prec=digits, rounding=rounding)
    return f"{context.divide(Decimal(value.numerator), Decimal(value.denominator)).normalize(context):g}"


def evidence_lines(problem: Problem, result: Result, *, runs: bool = True) -> list[str]:
    """What stands behind the verdict; `runs`: a trace too, state by state."""
    match result.verdict:
        case Violated(trace) if trace.times:
            checked = "accepted by the independent checker" if result.certified else "NOT checked"
            return [
                f"evidence  certificate of a run in continuous time, {checked}",
                f"run       at control times; {FLOW_STATES}",
                *(trace_lines(problem, trace) if runs else ()),
            ]
        case Violated(trace):
            replayed = "replayed step by step with zero tolerance" if result.certified else "NOT replayed"
            return [
                f"evidence  trace of {count_noun(len(trace.states), 'state')}, {replayed}",
                *(trace_lines(problem, trace) if runs else ()),
                *([] if trace.loop is None else [f"returns to state {trace.loop}"]),
                *_recurrence_lines(problem, trace, result.certified),
            ]
        case (
            Proved(certificate)
            | Exact(certificate=Certificate() as certificate)
            | PerStart(certificate=Certificate() as certificate)
        ):
            checked = "accepted by the independent checker" if result.certified else "NOT checked"
            return [f"evidence  certificate of {_certificate_size(certificate)}, {checked}"]
        case Holds(_, solver):
            return [f"evidence  rests on the word of `{solver}`: no certificate"]
        case Found(artifact):
            return search_lines(artifact)
        case Estimated(counts=counts, stop=stop, mean=mean, starts=starts):
            told = ", ".join(f"{number:,} {name}" for name, number in counts.items() if number)
            middle = [] if mean is None else [f"mean      {float(mean):.4g}, unbiased"]
            law = (
                [f"starts    the value is an average over starts that were drawn: {starts}"] if starts else []
            )
            ended = [f"stopped   {stop}"] if stop else []
            return [*law, f"evidence  {told or 'no runs'}", *middle, *ended]
        case PerStart(table) if any(isinstance(v, Estimated) for _, v in table):
            return _estimate_lines(table)
        case Vacuous(why):
            return [f"because   {why}"]
        case Unknown(_, detail, up_to, solver):
            if up_to is None:
                return [f"because   {detail}"]
            live = isinstance(problem.property, Eventually | Recurs)
            what = "no end and no loop that violates it" if live else "no violation"
            known = f"known     {what} up to {count_noun(up_to, 'step')} (word of `{solver}`)"
            return [f"because   {detail}", known]
        case _:
            return []


def _estimate_lines(table: tuple[tuple[State, Verdict], ...]) -> list[str]:
    """A summary of many estimates: the JSON has all of them."""
    cells = [v for _, v in table if isinstance(v, Estimated)]
    runs = sum(cell.counts.get("runs", 0) for cell in cells)
    low, high = min(cell.low for cell in cells), max(cell.high for cell in cells)
    ends = f"{decimal_text(low, ROUND_FLOOR, 6)} and {decimal_text(high, ROUND_CEILING, 6)}"
    stops = Counter(cell.stop for cell in cells)
    return [
        f"evidence  {runs:,} runs; all intervals lie between {ends}",
        *(f"stopped   {count_noun(number, 'start')}: {stop}" for stop, number in stops.items() if stop),
    ]


def _recurrence_lines(problem: Problem, trace: Trace, certified: bool) -> list[str]:
    """The sets that a run need not leave, and the step that keeps it there."""
    if not trace.recurrence:
        return []
    shown = "accepted by the independent checker" if certified else "NOT checked"
    lines = [f"then      for ever without a good state; certificate {shown}"]
    for place, region in enumerate(trace.recurrence):
        alone, following = len(trace.recurrence) == 1, (place + 1) % len(trace.recurrence)
        to = "into the set again" if alone else f"into set {following}"
        picks = ", ".join(f"{name} = {show_term(term)}" for name, term in region.chosen)
        step = region.transition.describe(problem.environment) + (f" with {picks}" if picks else "")
        name = "the set" if alone else f"set {place}"
        lines.append(f"where     {name} is {show_term(region.where)}; from each state `{step}` leads {to}")
    return lines


def _proof_argument(certificate: Certificate) -> list[str]:
    """How a proof about runs goes, in a few words; all runs one length after the other need none."""
    claim = certificate.content.get("claim")
    argument = claim.get("argument") if isinstance(claim, dict) else None
    if not isinstance(argument, dict):
        return []
    told = []
    if argument.get("kind") == "induction":
        told.append(f"by induction with k = {max(argument['steps'], argument.get('good', 0))}")
    if argument.get("kind") == "parts":
        told.append("no run leaves some states, shown part by part")
    told += ["over simple paths"] if "different" in argument else []
    told += ["with an invariant that was proved first"] if "assuming" in argument else []
    free = argument.get("free", {})
    several = [(len(free.get(w, ())), w[:-1]) for w in ("inputs", "outputs")]
    words = " and ".join(count_noun(n, what) for n, what in several if n)
    return [*told, f"with {words} free"] if words else told


def _certificate_size(certificate: Certificate) -> str:
    """How much a certificate has to show."""
    cases, several = certificate.content.get("cases"), certificate.content.get("obligations")
    if isinstance(closed := certificate.content.get("closed"), dict):
        return f"a closed set of {count_noun(len(closed['states']), 'abstract state')}"
    if certificate.kind == "graph":
        return "the problem alone"
    if isinstance(values := certificate.content.get("values"), list):
        sizes = [count_noun(side["states"], "state") for side in values if side is not None]
        return f"bounds of {' and of '.join(sizes)}" if sizes else "the problem alone"
    if isinstance(several, list):
        cases = [case for obligation in several for case in obligation["cases"]]
        return f"{count_noun(len(several), 'obligation')} and {_count_proof_steps(cases)}"
    if isinstance(followed := certificate.content.get("reach"), dict):
        return count_noun(sum(_count_cells(r["tree"]) for r in followed.get("regions", ())), "cell")
    if isinstance(sets := certificate.content.get("sets"), list):
        return count_noun(len(sets), "closed set")
    return _count_proof_steps(cases if isinstance(cases, list) else [])


def _count_cells(tree: object) -> int:
    """Leaves of a tree of halves."""
    match tree:
        case ["split", _, one, other]:
            return _count_cells(one) + _count_cells(other)
        case _:
            return 1


def _count_proof_steps(cases: Sequence[Mapping[str, Sequence[object]]]) -> str:
    return count_noun(sum(len(case["steps"]) for case in cases), "step")
