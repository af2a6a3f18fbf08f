"""Many problems, one after the other: what was asked, what was said, what is wrong, and the closest calls."""

import json
import re
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from random import Random

from tests.laws.oracle.ask import random_questions
from tests.laws.oracle.generate import Maker
from tests.laws.oracle.generate_jani import JaniMaker, jani_questions
from tests.laws.oracle.jani_text import reference, write_jani
from tests.laws.oracle.judge import (
    Answer,
    Case,
    Finding,
    Truth,
    compare,
    fold,
    look_at,
    run_check,
    run_command,
)
from tests.laws.oracle.meaning import Meaning
from tests.laws.oracle.questions import AboutChance, AboutRuns, ChanceTruth, Question
from tests.laws.oracle.runs import RunTruth
from tests.laws.oracle.toml_text import write_problem
from tests.laws.oracle.traces import object_to

FOR_RUNS = [
    "bmc",
    "induction",
    "explicit",
    "predicates",
    "recurrence",
    "explicit",
    "predicates",
    "bmc",
    "barrier",
]
FOR_CHANCE = ["explicit", "statistical", "explicit", "predicates"]


VARIANTS: dict[str, list[list[str]]] = {
    "bmc": [["--solver", "z3"], ["--solver", "native"], ["--solver", "milp"]],
    "induction": [["--solver", "z3"], ["--solver", "native"], ["--solver", "milp"]],
    "recurrence": [[]],
    "explicit": [["--tier", "llvm"], ["--tier", "interpreter"], ["--fuse"], ["--exact"], ["--exact"]],
    "predicates": [["--means", "cells"], ["--means", "table"]],
    "barrier": [[]],
    "statistical": [["--method", "chen"], ["--eps", "0.05"], ["--method", "mixture", "--eps", "0.05"]],
}


@dataclass(frozen=True)
class Call:
    """A close call: how close, and what it was about."""

    margin: Fraction
    what: str


@dataclass
class Figures:
    problems: int = 0
    skipped: int = 0
    questions: int = 0
    undecided: int = 0  # the documentation does not say
    runs: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[str] = field(default_factory=Counter)
    findings: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    objections: Counter[str] = field(default_factory=Counter)
    features: Counter[str] = field(default_factory=Counter)
    certify: Counter[str] = field(default_factory=Counter)
    states: Counter[int] = field(default_factory=Counter)
    estimates: int = 0
    calls: list[Call] = field(default_factory=list)
    found: list[str] = field(default_factory=list)


def make_problem(seed: int) -> Case | None:
    """Two problem files, then a JANI model, and so on."""
    if seed % 3 == 2:
        model = JaniMaker(seed).model()
        case = look_at(model, jani_questions(seed, model, 3))
    else:
        model = Maker(seed).model()
        case = look_at(model, random_questions(seed, model, 3))
    return None if case is None else sharpen(case, seed)


def sharpen(case: Case, seed: int) -> Case:
    """Thresholds at the value itself, numbers of steps at which a violation just shows or just does not."""
    r = Random(f"sharpen {seed}")
    questions = []
    for question, truth in zip(case.questions, case.truths, strict=True):
        questions.append(question)
        if truth is None or r.random() < 0.6:
            continue
        plain = truth.plain
        if isinstance(question, AboutRuns) and isinstance(plain, RunTruth):
            if question.kind in ("never", "always") and plain.depth is not None and not plain.trouble:
                questions[-1] = replace(question, steps=max(0, plain.depth - r.choice([0, 1])))
        elif isinstance(question, AboutChance) and isinstance(plain, ChanceTruth):
            questions[-1] = sharpen_chance(r, question, plain, jani=case.model.jani)
    again = look_at(case.model, questions)
    return case if again is None else again


def sharpen_chance(r: Random, question: AboutChance, truth: ChanceTruth, *, jani: bool) -> AboutChance:
    """Ask whether it is at least, or at most, what it is."""
    if question.reward is not None or question.of is not None or question.over not in (None, "min", "max"):
        return question
    if truth.trouble or not truth.starts:
        return question
    value = r.choice(fold(question.over or "max", [pair for _, pair in truth.starts]))
    if value is None or value.denominator >= 1000:
        return question
    op = r.choice([">=", "<=", "<", ">"])
    over = question.over if not jani else "min" if op in (">=", ">") else "max"
    return replace(question, compare=(op, value), over=over)


def write_case(case: Case, folder: Path) -> Path:
    return (write_jani if case.model.jani else write_problem)(case.model, case.questions, folder)


def kind_of_message(message: str) -> str:
    """A refusal without what is special about the problem."""
    last = message.splitlines()[-1] if message else ""
    return re.sub(r"`[^`]*`|-?\d+(/\d+)?|\S*/\S+", "…", last)[:160]


def run_problem(
    seed: int,
    folder: Path,
    figures: Figures,
    *,
    timeout: float,
    engines: float,
    certify: float,
    only: str | None = None,
) -> None:
    case = make_problem(seed)
    if case is None:
        figures.skipped += 1
        return
    figures.problems += 1
    figures.features.update(case.model.features)
    figures.states[len(str(len(case.graph.nodes)))] += 1
    path = write_case(case, folder)
    r = Random(f"engines {seed}")
    for place, (question, truth) in enumerate(zip(case.questions, case.truths, strict=True)):
        figures.questions += 1
        if truth is None:
            figures.undecided += 1
            continue
        note_call(figures, seed, place, question, truth, case)
        options = [["--timeout", str(timeout)]] if only is None else []
        listed = FOR_RUNS if isinstance(question, AboutRuns) else FOR_CHANCE
        listed = listed if only is None else [only] * len(listed)
        for engine in r.sample(listed, int(engines + r.random())):
            more = r.choice(VARIANTS[engine]) if r.random() < 0.5 else []
            if isinstance(question, AboutRuns) and more in (["--exact"], ["--fuse"]):
                more = []
            options.append(["--engine", engine, "--timeout", str(timeout), *more])
        for chosen in options:
            ask_once(figures, case, seed, place, path, chosen, certify=r.random() < certify)


def ask_once(
    figures: Figures, case: Case, seed: int, place: int, path: Path, options: list[str], *, certify: bool
) -> None:
    question, truth = case.questions[place], case.truths[place]
    assert truth is not None
    engine = options[1] if options[0] == "--engine" else "portfolio"
    extra = ["--policy", str(path.parent / "policy.onnx")] if case.model.jani and case.model.policy else []
    name = reference(question, place) if case.model.jani else f"q{place}"
    began = time.process_time()
    (answer,) = run_check(path, [name], [*options, *extra])
    if len(options) > 4 and answer.result is None and "no effect" in answer.message:
        (answer,) = run_check(path, [name], [*options[:4], *extra])
    took = time.process_time() - began
    figures.runs[engine] += 1
    if answer.result is None and engine != "portfolio" and is_objection(answer.message):
        figures.objections[engine] += 1
        return
    kind = "error" if answer.result is None else answer.verdict["kind"]
    if answer.result is not None and answer.result["certified"]:
        kind += ", certified"
    figures.verdicts[kind] += 1
    figures.estimates += kind == "estimated"
    findings = compare(case, question, truth, answer) + look_closer(case, question, answer)
    if took > 4 * float(options[options.index("--timeout") + 1]) + 20:
        findings.append(Finding("late", f"{took:.1f} s"))
    if certify and answer.result is not None:
        findings += check_again(figures, answer, path.parent / "result.json")
    for finding in findings:
        if finding.kind == "refused":
            figures.refused[f"{engine}: {kind_of_message(finding.what)}"] += 1
        if finding.kind == "documented refusal":
            figures.findings[finding.kind] += 1
            continue
        label = finding.kind + known_trouble(case, question)
        figures.findings[label] += 1
        features = " ".join(sorted(case.model.features))
        shown = " ".join([engine, *(x for x in options if x not in ("--engine", engine))])
        about = f"{question.text} | {finding.what[:300]} | {features}"
        figures.found.append(f"seed {seed} q{place} {engine} {label} [{shown}]: {about}")


def is_objection(message: str) -> bool:
    return "no engine can take this problem" in message


def known_trouble(case: Case, question: Question) -> str:
    """What is under repair is counted apart."""
    drawn = case.model.policy is not None and case.model.policy.choose == "sample"
    marks = [" (sample)"] if drawn else []
    marks += [f" ({name})" for name in ("negative remainder", "float64") if name in case.model.features]
    return "".join(marks)


def look_closer(case: Case, question: Question, answer: Answer) -> list[Finding]:
    """Traces of violations are followed on the oracle's graph."""
    if answer.result is None or answer.verdict["kind"] != "violated" or not isinstance(question, AboutRuns):
        return []
    objection = object_to(Meaning(case.model), case.graph, question, answer.verdict["trace"])
    return [Finding("wrong", f"trace: {objection}")] if objection else []


def check_again(figures: Figures, answer: Answer, path: Path) -> list[Finding]:
    """`surefoot certify` must confirm what is certified or violated, and refute nothing."""
    path.write_text(json.dumps(answer.result), encoding="utf-8")
    code, out, err = run_command(["certify", str(path), "--quiet"])
    kind = answer.verdict["kind"]
    figures.certify[f"{kind}: exit {code}"] += 1
    confirmed = kind in ("proved", "violated") or (answer.result or {})["certified"]
    if (confirmed and code != 0) or code not in (0, 3):
        return [Finding("certify", f"exit {code} of {kind}: {(err or out).strip()[-200:]}")]
    return []


def note_call(figures: Figures, seed: int, place: int, question: Question, truth: Truth, case: Case) -> None:
    """How close the truth is to being another one."""
    where = f"seed {seed} q{place}: {question.text}"
    plain = truth.plain
    if isinstance(plain, RunTruth):
        assert isinstance(question, AboutRuns)
        if truth.widened is not None and truth.widened.violated != plain.violated:
            figures.calls.append(
                Call(Fraction(0), f"{where}: only another choice among equal outputs violates it")
            )
        elif plain.violated and plain.depth is not None and plain.depth == question.steps:
            figures.calls.append(Call(Fraction(1, 100), f"{where}: violated in the last state looked at"))
        return
    assert isinstance(question, AboutChance)
    assert isinstance(plain, ChanceTruth)
    if plain.trouble or not plain.starts or question.over not in (None, "min", "max", "avg"):
        return
    for value in set(fold(question.filter, [pair for _, pair in plain.starts])):
        if value is None:
            continue
        if question.compare is not None:
            margin = abs(value - question.compare[1])
            if value in (0, 1):  # found on the graph, not by arithmetic: less of a close call
                margin += Fraction(1, 200)
            figures.calls.append(Call(margin, f"{where}: the value is {float(value):.9g}"))
        elif question.reward is None and value not in (0, 1):
            margin = min(value, 1 - value)
            figures.calls.append(
                Call(margin + Fraction(1, 1000), f"{where}: the value is {float(value):.9g}")
            )


def summarise(figures: Figures) -> Iterator[str]:
    yield f"problems {figures.problems} (and {figures.skipped} left out: too many states, or not documented)"
    yield f"questions {figures.questions}, of which {figures.undecided} the documentation does not decide"
    yield f"runs of the command {sum(figures.runs.values())}: {dict(figures.runs.most_common())}"
    yield f"verdicts {dict(figures.verdicts.most_common())}"
    yield f"an engine could not take it {dict(figures.objections.most_common())}"
    yield f"certify {dict(sorted(figures.certify.items()))}"
    yield f"nodes by number of digits {dict(sorted(figures.states.items()))}"
    yield f"features {dict(figures.features.most_common())}"
    missed = sum(n for kind, n in figures.findings.items() if kind.startswith("missed"))
    yield f"estimates {figures.estimates}, missed {missed}"
    yield f"findings {dict(figures.findings.most_common())}"
    yield from (f"refused {n} times: {message}" for message, n in figures.refused.most_common())
    yield from figures.found
    yield "closest calls:"
    yield from (
        f"  {float(call.margin):.3g}  {call.what}"
        for call in sorted(figures.calls, key=lambda c: c.margin)[:20]
    )
