"""The evidence of a stored search, checked again: the proof at one end and the trace at the other.

The problem is read again from its files and made anew for the values that the result states; a certificate
must be about exactly that problem, a trace must replay on it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from surefoot.certify.replay import replay, replay_stem
from surefoot.certify.runs.canonical import run_problem_to_json
from surefoot.certify.runs.recurrence import recurrence_claim
from surefoot.certify.values.claim import matches_graph_claim
from surefoot.errors import InvalidProblem
from surefoot.formats.model_file import LoadedModel
from surefoot.formats.result_json import verdict_from_json
from surefoot.formats.result_json.exact_numbers import number_from_json
from surefoot.problem.problem import Problem
from surefoot.reductions.bound_template import BoundTemplate, parse_bound_template
from surefoot.reductions.discretise import discretise
from surefoot.reductions.proof_obligations import (
    consecution_problem,
    initiation_problem,
    safety_problem,
    starting_in,
)
from surefoot.search.flow_run_evidence import flow_run_objection
from surefoot.term.parser import parse_term
from surefoot.term.printer import show_term
from surefoot.term.term import disjunction_of
from surefoot.verdict.sentences import count_noun
from surefoot.verdict.verdict import Certificate, Found, Proved, Violated

Judgement = tuple[str, str]
Accept = Callable[[Mapping[str, Any]], Judgement]
OBLIGATIONS = {
    "every start is inside": initiation_problem,
    "every bad state is outside": safety_problem,
    "no step leads out": consecution_problem,
}


def is_certificate_about(content: Mapping[str, Any], problem: Problem, inputs: Mapping[str, str]) -> bool:
    """Is this a certificate about the runs of exactly this problem?"""
    claim = content.get("claim")
    if not isinstance(claim, dict) or claim.get("kind") != "execution":
        return False
    ways = ({}, inputs) if "unfinished" in content else (inputs,)  # its networks are written out
    return any(
        claim.get("problem") == json.loads(json.dumps(run_problem_to_json(discretise(problem), way)))
        for way in ways
    )


def _is_real(answer: Mapping[str, Any]) -> bool:
    """Was it shown in exact real arithmetic only?"""
    return bool(answer["verdict"].get("arithmetic") == "proved-real")


def violation_objection(
    problem: Problem, verdict: Violated, inputs: Mapping[str, str], accept: Accept
) -> str | None:
    """Why a violation is not shown by its trace, or its trace and certificate; None if it is."""
    if verdict.trace.times:
        return flow_run_objection(problem, verdict, inputs, accept)
    if not verdict.trace.recurrence:
        return replay(problem, verdict.trace)
    if verdict.certificate is None:
        return "the trace has a recurrence set, but no certificate"
    if (why := replay_stem(problem, verdict.trace)) is not None:
        return why
    claim = json.loads(json.dumps(recurrence_claim(problem, verdict.trace, inputs)))
    if verdict.certificate.content.get("claim") != claim:
        return "the certificate is about another problem or another recurrence set than the result"
    word, why = accept(verdict.certificate.content)
    return None if word == "accepted" else why


def apply_moved_bound(loaded: LoadedModel, source: Mapping[str, object]) -> LoadedModel:
    """The problem for the value of a moving bound that the result is about, if there is one."""
    if "tighten" not in source or "at" not in source:
        return loaded
    value = Fraction(number_from_json(source["at"], "source.at"))
    made = {
        n: parse_bound_template(str(source["tighten"]), p).at(p, value) for n, p in loaded.problems.items()
    }
    return replace(loaded, problems=made)


@dataclass(frozen=True, slots=True)
class SearchEvidence:
    """A stored search with the files that it is about; `accept` asks the independent checker."""

    found: Found
    loaded: LoadedModel
    source: Mapping[str, object]
    accept: Accept

    def judge_artifact(self) -> Judgement:
        """Accepted, rejected or not certified, and the reason."""
        artifact = self.found.artifact
        try:
            match artifact:
                case {"kind": "tipping point"} if isinstance(artifact, dict):
                    return self._tipping_point(artifact)
                case {"kind": "invariant"} if isinstance(artifact, dict):
                    return self._invariant(artifact)
                case {"kind": "safe starts"} if isinstance(artifact, dict):
                    return self._safe_starts(artifact)
                case _:
                    return "not certified", "`found` carries no evidence that can be checked"
        except (InvalidProblem, KeyError, TypeError) as error:
            return "rejected", f"the result cannot be read: {error}"

    def about(self) -> tuple[Problem, bool]:
        """The problem that the words of an accepted result are about; was it shown in reals only?"""
        artifact, problem = self.found.artifact, self._problem()
        assert isinstance(artifact, dict)
        if artifact["kind"] == "tipping point":
            tighten, value = self._moving_bound(artifact)
            return tighten.at(problem, value), _is_real(artifact["proved"])
        return problem, any(map(_is_real, artifact.get("obligations", ())))

    def _moving_bound(self, artifact: Mapping[str, Any]) -> tuple[BoundTemplate, Fraction]:
        """Which bound moves, and the last value at which the property is proved."""
        value = number_from_json(artifact["proved"]["value"], "verdict.artifact.proved.value")
        return parse_bound_template(str(self.source["tighten"]), self._problem()), Fraction(value)

    def _tipping_point(self, artifact: Mapping[str, Any]) -> Judgement:
        problem = self._problem()
        (tighten, value), refuted = self._moving_bound(artifact), artifact["refuted"]
        if artifact["statement"] != tighten.text(value):
            return "rejected", "the statement is not what the last proved value says"
        condition = tighten.condition(problem, value)
        if artifact["condition"] != (None if condition is None else show_term(condition)):
            return "rejected", "the condition is not what the last proved value says"
        if refuted is not None:
            at = Fraction(number_from_json(refuted["value"], "verdict.artifact.refuted.value"))
            if (value < at) is not tighten.rises:
                return "rejected", "the refuted value is on the wrong side of the proved one"
            precision = Fraction(number_from_json(artifact["precision"], "verdict.artifact.precision"))
            if artifact["reached"] is not False and abs(at - value) > precision:
                return "rejected", "the two ends are further apart than the result says"
            trace = verdict_from_json(refuted["verdict"], "verdict.artifact.refuted.verdict")
            if not isinstance(trace, Violated):
                return "rejected", "the refuted end has no trace"
            about = discretise(tighten.at(problem, at), continuous=True)
            if (why := violation_objection(about, trace, self.loaded.inputs, self.accept)) is not None:
                return "rejected", f"the trace at the refuted end does not replay: {why}"
        if self.found.certificate is None:
            return "not certified", "the proved end has no certificate"
        real = _is_real(artifact["proved"])
        return self._check_certificate(self.found.certificate, tighten.at(problem, value), real)

    def _invariant(self, artifact: Mapping[str, Any]) -> Judgement:
        problem, condition = self._problem(), parse_term(str(artifact["condition"]))
        stored = {o["name"]: o["verdict"] for o in artifact["obligations"]}
        words: Judgement = ("not certified", "there are no obligations")
        for name, question in OBLIGATIONS.items():
            verdict = verdict_from_json(stored[name], "verdict.artifact.obligations")
            if not isinstance(verdict, Proved):
                return "not certified", f"{name}: there is no certificate"
            real = verdict.arithmetic == "proved-real"
            words = self._check_certificate(verdict.certificate, question(problem, condition), real)
            if words[0] != "accepted":
                return words[0], f"{name}: {words[1]}"
        return words[0], f"the three obligations of {artifact['condition']}; the last one is: {words[1]}"

    def _safe_starts(self, artifact: Mapping[str, Any]) -> Judgement:
        """Every proof is about the problem with the starts of its group, every run begins in one of them."""
        problem, proved, refuted = self._problem(), 0, 0
        for group in artifact["groups"]:
            part = starting_in(problem, parse_term(str(group["condition"])))
            verdict = verdict_from_json(group["verdict"], "verdict.artifact.groups")
            match verdict, group["answer"]:
                case Violated(), "refuted":
                    refuted += 1
                    about = discretise(part, continuous=True)
                    why = violation_objection(about, verdict, self.loaded.inputs, self.accept)
                    if why is not None:
                        return "rejected", f"a run from {group['condition']} does not replay: {why}"
                case Proved(certificate), "proved":
                    proved += 1
                    words = self._check_certificate(certificate, part, verdict.arithmetic == "proved-real")
                    if words[0] != "accepted":
                        return words[0], f"{group['condition']}: {words[1]}"
                case _, "proved":
                    return "not certified", f"{group['condition']}: there is no certificate"
                case _, "refuted":
                    return "rejected", f"{group['condition']} is refuted without a run"
        safe = [parse_term(str(g["condition"])) for g in artifact["groups"] if g["answer"] == "proved"]
        if artifact["condition"] != show_term(disjunction_of(tuple(safe))):
            return "rejected", "the condition is not that of the starts that are proved"
        told = f"certificates of {count_noun(proved, 'part')}, runs from {count_noun(refuted, 'other')}"
        return "accepted", f"{told}; the numbers of starts were not counted again"

    def _problem(self) -> Problem:
        (problem,) = self.loaded.problems.values()
        return problem

    def _check_certificate(self, certificate: Certificate, problem: Problem, real: bool) -> Judgement:
        content, inputs = certificate.content, self.loaded.inputs
        if certificate.kind == "graph":
            same = matches_graph_claim(content, discretise(problem), inputs)
        else:
            same = is_certificate_about(content, problem, inputs)
        if not same:
            return "rejected", "the certificate is about another problem than the result describes"
        if not real and certificate.content.get("arithmetic") == "real":
            return "rejected", "the certificate is about real arithmetic, the result about float32"
        return self.accept(certificate.content)
