"""What a search found, as lines for people."""

from __future__ import annotations

from collections import Counter

from surefoot.term.printer import show_term
from surefoot.term.term import Const
from surefoot.verdict.artifact import (
    AbstractGraph,
    Answer,
    Flowpipe,
    Invariant,
    SafeStarts,
    StartGroup,
    TippingPoint,
    Trial,
)
from surefoot.verdict.sentences import count_noun, cut_term
from surefoot.verdict.verdict import Holds, Proved, Unknown, Violated


def search_lines(artifact: object) -> list[str]:
    """The evidence of a tipping point, an invariant, an abstraction or sorted starts, one line each."""
    match artifact:
        case TippingPoint():
            return _describe_tipping_point(artifact)
        case Invariant():
            return _describe_invariant(artifact)
        case AbstractGraph():
            return _describe_graph(artifact)
        case Flowpipe():
            return describe_flowpipe(artifact)
        case SafeStarts():
            return [f"{word:<9} {line}" for word, line in describe_start_groups(artifact)]
        case _:
            return []


def describe_flowpipe(found: Flowpipe) -> list[str]:
    """How much was followed, and how far."""
    done, still = found.cells
    cells = f"{count_noun(done, 'cell')} of starts followed to the end"
    cells += f", {still:,} open" if still else ""
    boxes = f"{len(found.pieces):,} {'box' if len(found.pieces) == 1 else 'boxes'} kept for pictures"
    return [f"followed  {cells}; {boxes} (--report, --svg, --png)"]


def _describe_tipping_point(found: TippingPoint) -> list[str]:
    seconds = sum(t.seconds for t in found.trials)
    asked = f"{len(found.trials)} queries" if len(found.trials) != 1 else "1 query"
    lines = [
        f"proved    {_describe_end(found.proved)}",
        f"refuted   {_describe_end(found.refuted)}",
        f"search    {asked}; all of them together {seconds:.2f} s",
    ]
    if found.stopped:
        lines.append(f"gap       wider than {show_term(Const(found.precision))}: {found.stopped}")
    return lines


def _describe_end(trial: Trial | None) -> str:
    if trial is None:
        return "at no value of the range"
    return f"at {show_term(Const(trial.value))} ({trial_evidence(trial)})"


def trial_evidence(trial: Trial) -> str:
    """What the answer at one value rests on."""
    match trial.verdict:
        case Proved():
            return "certificate accepted by the independent checker" if trial.certified else "NOT checked"
        case Holds(_, solver):
            return f"rests on the word of `{solver}`: no certificate"
        case Violated(trace) if trace.times:
            return "certificate of a run in continuous time accepted" if trial.certified else "NOT checked"
        case _:
            return "trace replayed step by step with zero tolerance" if trial.certified else "NOT replayed"


def _describe_invariant(found: Invariant) -> list[str]:
    lines = []
    for obligation in found.obligations:
        word = "certified" if obligation.certified else "not certified"
        lines.append(f"checked   {obligation.name} ({word}, {obligation.seconds:.2f} s)")
    lines += [f"tried     {text}: {outcome}" for text, outcome in found.candidates[-6:]]
    return lines


def _describe_graph(found: AbstractGraph) -> list[str]:
    starts, unsafe = sum(s.start for s in found.states), sum(s.unsafe for s in found.states)
    sizes = (
        f"{count_noun(len(found.states), 'abstract state')} ({count_noun(starts, 'start')}, {unsafe} unsafe)"
    )
    steps = count_noun(len(found.edges), "transition")
    more = "" if found.complete else "; not all that can be reached"
    lines = [f"graph     {sizes}, {steps}, {count_noun(len(found.predicates), 'predicate')}{more}"]
    for test in found.tests:
        lines.append(
            f"tests     {test.kind}: {test.number} asked, {test.possible} possible, {test.seconds:.2f} s"
        )
    reasons = Counter(why for why, _ in found.refinements)
    if reasons:
        told = ", ".join(f"{why} {number}" for why, number in sorted(reasons.items()))
        lines.append(f"refined   {count_noun(len(found.refinements), 'time')}: {told}")
    return lines


WORDS: dict[Answer, str] = {"proved": "proved", "refuted": "refuted", "unknown": "open"}
MOST_GROUPS = 12  # of one kind, in a text


def starts_headline(found: SafeStarts) -> str:
    """How many starts are of which kind."""
    told = []
    for answer, word in WORDS.items():
        number, groups = found.count_starts(answer), len(found.of(answer))
        told.append(f"{count_noun(groups, 'part')} {word}" if number is None else f"{number} {word}")
    total = "starts" if found.count is None else count_noun(found.count, "start")
    return f"{total}: {', '.join(told)}"


def describe_start_groups(found: SafeStarts) -> list[tuple[str, str]]:
    """A line for every group: what is known, of which starts, and why."""
    lines = []
    for answer, word in WORDS.items():
        groups = found.of(answer)
        for group in groups[:MOST_GROUPS]:
            number = "" if group.count is None else f"{count_noun(group.count, 'start')}, "
            where = cut_term(show_term(group.condition))
            lines.append((word, f"{where} ({number}{_group_evidence(group)})"))
        if len(groups) > MOST_GROUPS:
            lines.append((word, f"… and {len(groups) - MOST_GROUPS} more parts; --json has them"))
    return [*lines, ("stopped", found.stopped)] if found.stopped else lines


def _group_evidence(group: StartGroup) -> str:
    match group.verdict:
        case Violated(trace) if trace.times:
            checked = "accepted" if group.certified else "NOT checked"
            return f"a run in continuous time, its certificate {checked}"
        case Violated(trace):
            steps = count_noun(len(trace.moves), "step")
            return f"a run of {steps} {'replayed' if group.certified else 'NOT replayed'}"
        case Proved():
            return "certificate accepted by the independent checker"
        case Holds(_, solver):
            return f"rests on the word of `{solver}`: no certificate"
        case Unknown(_, detail):
            return detail
        case _:
            return "no answer"
