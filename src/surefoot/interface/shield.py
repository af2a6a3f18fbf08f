"""A shield from Python: made, certified, exported, put around an environment."""

from __future__ import annotations

import runpy
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

from surefoot.errors import InvalidProblem, Unsupported, WrongType
from surefoot.formats.output_file import write_file
from surefoot.interface.expression import number_from
from surefoot.interface.result import ProofFile, output_path
from surefoot.problem.policy import Policy
from surefoot.problem.problem import Problem
from surefoot.report.result_text import verdict_headline
from surefoot.report.switched_shield_text import cost_lines
from surefoot.search.finite_shield import FiniteSynthesis, is_moved_by_actions, make_finite_shield
from surefoot.search.shield_cost import ShieldCost
from surefoot.search.switched_shield import SwitchedSynthesis, make_switched_synthesis
from surefoot.shields.certified_shield import ShieldSynthesis, Sketches, make_certified_shield, shapes_for
from surefoot.shields.export.guard import find_export_obstacle
from surefoot.term.arguments import describe_value, take_tuple, take_word, whole_number
from surefoot.verdict.sentences import count_noun
from surefoot.verdict.verdict import Exact, Proved
from surefoot.work.budget import Budget


class Shield(ABC):
    """What both kinds of shields are: judged by the checker, exported as source code, put around an
    environment. Nothing is exported that is not certified."""

    __slots__ = ()

    @property
    @abstractmethod
    def accepted(self) -> bool:
        """Did the independent checker accept the certificate?"""

    @property
    @abstractmethod
    def reason(self) -> str:
        """What is proved, or why nothing is."""

    @property
    @abstractmethod
    def covered(self) -> Fraction:
        """The share of the starts from which the shield is proved to keep the system safe."""

    @property
    @abstractmethod
    def certificate(self) -> ProofFile | None:
        """The proof for the stand-alone checker, if there is one."""

    @abstractmethod
    def _sources(self, name: str) -> tuple[str, str, str]:
        """Python module, C header and C file."""

    @abstractmethod
    def wrap(self, env: Any, state_of: Callable[[Any], Sequence[float]] | None = None) -> Any:
        """A Gymnasium environment in which the shield overrules what is not seen to be safe."""

    def export_python(self, path: str | PathLike[str]) -> None:
        """Write the shield as a Python module without imports."""
        self._require_proof()
        write_file(output_path(path), self._sources("shield")[0])

    def export_c(self, prefix: str | PathLike[str]) -> None:
        """Write the shield as `prefix.h` and `prefix.c`, with a test of itself."""
        self._require_proof()
        target = output_path(prefix)
        _, header, body = self._sources(target.name)
        write_file(target.with_name(f"{target.name}.h"), header)
        write_file(target.with_name(f"{target.name}.c"), body)

    def _require_proof(self) -> None:
        if not self.accepted:
            raise InvalidProblem(f"nothing is certified: {self.reason}", fix=self._remedy())

    def _remedy(self) -> str:
        return "give more time"

    def _run_module(self) -> Mapping[str, Any]:
        """What the exported module defines."""
        self._require_proof()
        with TemporaryDirectory() as folder:
            module = Path(folder) / "shield.py"
            module.write_text(self._sources("shield")[0], encoding="utf-8")
            return runpy.run_path(str(module))

    def _share(self) -> str:
        return "100 %" if self.covered == 1 else f"{min(float(self.covered) * 100, 99.99):.2f} %"


@dataclass(frozen=True, slots=True)
class CertifiedShield(Shield):
    """Rules with their safe sets, and the shield made of them, as the checker has judged them."""

    synthesis: ShieldSynthesis = field(repr=False)

    @property
    def accepted(self) -> bool:
        return self.synthesis.accepted

    @property
    def reason(self) -> str:
        return self.synthesis.reason

    @property
    def covered(self) -> Fraction:
        """The share of the starts, by volume, from which the shield is proved to keep the system safe."""
        if not self.synthesis.accepted:
            return Fraction(0)
        return self.synthesis.found.covered_share(self.synthesis.system.initial)

    @property
    def policy(self) -> Policy | None:
        """The shield as a policy, or the program where there is no shield."""
        return self.synthesis.problem.policy

    @property
    def problem(self) -> Problem:
        """The problem as it is executed, with the shield as its policy."""
        return self.synthesis.problem

    @property
    def certificate(self) -> ProofFile | None:
        content = self.synthesis.certificate
        return None if content is None else ProofFile("barrier", content)

    def _sources(self, name: str) -> tuple[str, str, str]:
        return self.synthesis.python(), *self.synthesis.c(name)

    def wrap(self, env: Any, state_of: Callable[[Any], Sequence[float]] | None = None) -> Any:
        """A Gymnasium environment in which the shield overrules controls that are not seen to be safe."""
        step = self._run_module()["step"]
        from surefoot.integrations.shield import Shielded

        return Shielded(env, step, state_of)

    def __str__(self) -> str:
        rules = len(self.synthesis.found.branches)
        word = "certified" if self.accepted else "not certified"
        told = f"{word}: {count_noun(rules, 'rule')}, {self._share()} of the starts covered\n  {self.reason}"
        why = find_export_obstacle(self.synthesis.problem.environment)
        return told if why is None else f"{told}\n  it cannot be exported: {why}"

    def __repr__(self) -> str:
        return f"<CertifiedShield {self.synthesis.problem.name}: {str(self).partition(chr(10))[0]}>"

    def _repr_html_(self) -> str:
        from surefoot.report.shield_text import render_shield_fragment

        return render_shield_fragment(self.synthesis)


@dataclass(frozen=True, slots=True)
class ActionShield(Shield):
    """Which actions may be taken in which states of a finite system, as the checker has judged it."""

    synthesis: FiniteSynthesis = field(repr=False)

    @property
    def accepted(self) -> bool:
        return self.synthesis.is_accepted

    @property
    def reason(self) -> str:
        if self.accepted:
            return self.synthesis.certified_about()
        kept, starts = self.synthesis.safe_start_count
        return f"{kept} of {starts} starts can be kept safe, and that is not certified"

    def _remedy(self) -> str:
        kept, starts = self.synthesis.safe_start_count
        return (
            "give more time" if kept == starts else "start only where it can be kept safe, or lower `bound`"
        )

    @property
    def covered(self) -> Fraction:
        """The share of the starts that the shield is proved to keep as safe as it was asked to."""
        return Fraction(int(self.accepted and self.synthesis.kept_by_anybody))

    @property
    def problem(self) -> Problem | None:
        """The problem with its policy behind the shield; None: it has no policy."""
        return self.synthesis.shield.shielded_problem()

    @property
    def policy(self) -> Policy | None:
        """The policy of the problem behind the shield."""
        behind = self.problem
        return None if behind is None else behind.policy

    @property
    def certificate(self) -> ProofFile | None:
        found = None if self.synthesis.anybody is None else self.synthesis.anybody.verdict
        held = found.certificate if isinstance(found, Proved | Exact) else None
        return None if held is None else ProofFile(held.kind, held.content)

    def _sources(self, name: str) -> tuple[str, str, str]:
        return self.synthesis.python(), *self.synthesis.c(name)

    def wrap(
        self,
        env: Any,
        state_of: Callable[[Any], Sequence[float]] | None = None,
        names: Sequence[str] | None = None,
    ) -> Any:
        """A Gymnasium environment in which actions that are not permitted are replaced by the safest one.

        `names[i]` is the label of the environment's action i; by default labels in their own order.
        """
        module = SimpleNamespace(**self._run_module())
        from surefoot.integrations.shield import Masked

        return Masked(env, module, state_of, names)

    def __str__(self) -> str:
        kept, starts = self.synthesis.safe_start_count
        word = "certified" if self.covered else "not certified"
        if self.accepted and not self.covered:
            word = "not certified for every policy behind it"
        return f"{word}: {kept} of {starts} starts kept safe\n  {self.reason}"

    def __repr__(self) -> str:
        return f"<ActionShield {self.synthesis.shield.problem.name}: {str(self).partition(chr(10))[0]}>"

    def _repr_html_(self) -> str:
        from surefoot.report.finite_shield_text import render_finite_synthesis
        from surefoot.report.search_page import preformatted_html

        told = preformatted_html(str(self)), preformatted_html(render_finite_synthesis(self.synthesis))
        return f"<div>{''.join(told)}</div>"


@dataclass(frozen=True, slots=True)
class SlidingShield(Shield):
    """Which actions may be taken in which states of a system with real variables: those after which the state
    is in a set that a program is proved never to leave."""

    synthesis: SwitchedSynthesis = field(repr=False)

    @property
    def accepted(self) -> bool:
        return self.synthesis.is_accepted

    @property
    def reason(self) -> str:
        if self.accepted:
            return self.synthesis.certified_about()
        return verdict_headline(self.synthesis.shield.obligation.problem, self.synthesis.proof)

    @property
    def covered(self) -> Fraction:
        """The share of the box around the starts, by volume, that is in the set: at least so much."""
        return self.synthesis.covered

    @property
    def cost(self) -> ShieldCost | None:
        """What was seen in runs of the problem's policy with and without the shield; None: it has none."""
        return self.synthesis.cost

    @property
    def problem(self) -> Problem:
        """The problem with its policy behind the shield; with the program alone, if it has no policy."""
        shield = self.synthesis.shield
        return shield.shielded_problem() or shield.program_problem()

    @property
    def policy(self) -> Policy | None:
        """The policy of the problem behind the shield, or the program."""
        return self.problem.policy

    @property
    def certificate(self) -> ProofFile | None:
        found = self.synthesis.proof.verdict
        return (
            ProofFile(found.certificate.kind, found.certificate.content)
            if isinstance(found, Proved)
            else None
        )

    def _sources(self, name: str) -> tuple[str, str, str]:
        return self.synthesis.python(), *self.synthesis.c(name)

    def wrap(
        self,
        env: Any,
        state_of: Callable[[Any], Sequence[float]] | None = None,
        names: Sequence[str] | None = None,
    ) -> Any:
        """A Gymnasium environment in which an action that does not lead into the set is replaced by the
        program's.

        The set is about the state in float64, and an observation may be rounded to float32: without
        `state_of` the `state` of the environment itself is looked at, if it has one of so many numbers.
        `names[i]` is the label of the environment's action i; by default labels in their own order.
        """
        module = SimpleNamespace(**self._run_module())
        from surefoot.integrations.shield import Masked, find_exact_state

        exact = find_exact_state(env, len(module.STATE)) if state_of is None else state_of
        return Masked(env, module, exact, self.synthesis.shield.system.actions if names is None else names)

    def __str__(self) -> str:
        word = "certified" if self.accepted else "not certified"
        told = f"{word}: {self._share()} of the starts covered\n  {self.reason}"
        return "\n  ".join([told, *cost_lines(self.cost)])

    def __repr__(self) -> str:
        return f"<SlidingShield {self.synthesis.shield.problem.name}: {str(self).partition(chr(10))[0]}>"

    def _repr_html_(self) -> str:
        from surefoot.report.search_page import preformatted_html

        return f"<div>{preformatted_html(str(self))}</div>"


def make_shield(
    problem: Problem,
    degrees: object,
    sets: object,
    squares: object,
    sketches: Sketches,
    bound: object,
    budget: Budget,
) -> CertifiedShield | ActionShield | SlidingShield:
    """Check the arguments, then synthesise, certify and check."""
    kind: Any = take_word("auto", "polynomial", "polyhedron")(sets)
    way: Any = take_word("auto", "sos", "sdsos")(squares)
    least = _take_bound(bound)
    if is_moved_by_actions(problem):
        given = {"degrees": degrees, "rule": sketches.rule, "invariant": sketches.invariant}
        given |= {"sets": "" if kind == "auto" else kind, "squares": "" if way == "auto" else way}
        if name := next((n for n, value in given.items() if value), None):
            what = "it is for models with real controls; this model is moved by actions"
            raise InvalidProblem(what, fix="leave it out", where=name)
        made = make_finite_shield(problem, least, budget)
        if isinstance(made, str):
            raise Unsupported(f"there is no shield yet: {made}", fix="give more time: timeout=600")
        return ActionShield(made)
    if not problem.environment.controls:
        if least != 1 or degrees is not None or sketches.rule or sketches.invariant:
            what = "shields of actions over real variables have no such options"
            raise InvalidProblem(what, fix="leave them out", where="bound" if least != 1 else "degrees")
        return SlidingShield(make_switched_synthesis(problem, budget))
    if least != 1:
        what = "it is for models that are moved by actions; this one has real controls"
        raise InvalidProblem(what, fix="leave it out", where="bound")
    tried: Any = (2, 4) if degrees is None else take_tuple(_take_degree, "degrees")(degrees)
    if degrees is not None and kind == "polyhedron":
        raise InvalidProblem("a polyhedron has no degree", fix="leave `degrees` or `sets` out")
    if degrees is not None and kind == "auto":
        kind = "polynomial"  # who asks for degrees means polynomials
    return CertifiedShield(
        make_certified_shield(problem, shapes_for(kind, tried, way), budget, sketches=sketches)
    )


def _take_bound(given: object) -> Fraction:
    bound = Fraction(number_from(given))
    if not 0 < bound <= 1:
        fix = "give bound=0.99, or leave it out"
        raise WrongType(
            f"{describe_value(given)} is not a number above 0 and up to 1", fix=fix, where="bound"
        )
    return bound


def _take_degree(given: object) -> int:
    degree = whole_number(given)
    if degree not in range(2, 13, 2):
        raise WrongType(f"{describe_value(given)} is not a degree", fix="give even numbers up to 12: (2, 4)")
    return degree
