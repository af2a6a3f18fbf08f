"""A shield from Python: made, certified, exported, put around an environment."""

from __future__ import annotations

import runpy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from surefoot.errors import InvalidProblem, Unsupported, WrongType
from surefoot.formats.output_file import write_file
from surefoot.interface.result import ProofFile, output_path
from surefoot.problem.policy import Policy
from surefoot.problem.problem import Problem
from surefoot.shields.certified_shield import ShieldSynthesis, Sketches, make_certified_shield, shapes_for
from surefoot.term.arguments import describe_value, take_tuple, take_word, whole_number
from surefoot.work.budget import Budget


@dataclass(frozen=True, slots=True)
class CertifiedShield:
    """Rules with their safe sets, and the shield made of them, as the checker has judged them."""

    synthesis: ShieldSynthesis = field(repr=False)

    @property
    def accepted(self) -> bool:
        """Did the independent checker accept the certificate?"""
        return self.synthesis.accepted

    @property
    def reason(self) -> str:
        """What is proved, or why nothing is."""
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

    def export_python(self, path: str | PathLike[str]) -> None:
        """Write the shield as a Python module without imports."""
        self._require_proof()
        write_file(output_path(path), self.synthesis.python())

    def export_c(self, prefix: str | PathLike[str]) -> None:
        """Write the shield as `prefix.h` and `prefix.c`, with a test of itself."""
        self._require_proof()
        target = output_path(prefix)
        header, body = self.synthesis.c(target.name)
        write_file(target.with_name(f"{target.name}.h"), header)
        write_file(target.with_name(f"{target.name}.c"), body)

    def wrap(self, env: Any, state_of: Callable[[Any], Sequence[float]] | None = None) -> Any:
        """A Gymnasium environment in which the shield overrules actions that are not seen to be safe."""
        self._require_proof()
        from surefoot.integrations.shield import Shielded

        with TemporaryDirectory() as folder:
            module = Path(folder) / "shield.py"
            module.write_text(self.synthesis.python(), encoding="utf-8")
            step = runpy.run_path(str(module))["step"]
        return Shielded(env, step, state_of)

    def _require_proof(self) -> None:
        if not self.synthesis.accepted:
            raise InvalidProblem(f"nothing is certified: {self.reason}", fix="give more time")

    def __str__(self) -> str:
        rules = len(self.synthesis.found.branches)
        word = "certified" if self.accepted else "not certified"
        share = "100 %" if self.covered == 1 else f"{min(float(self.covered) * 100, 99.99):.2f} %"
        return f"{word}: {rules} rules, {share} of the starts covered\n  {self.reason}"

    def __repr__(self) -> str:
        return f"<CertifiedShield {self.synthesis.problem.name}: {str(self).partition(chr(10))[0]}>"


def make_shield(
    problem: Problem,
    degrees: object,
    sets: object,
    squares: object,
    sketches: Sketches,
    budget: Budget,
) -> CertifiedShield:
    """Check the arguments, then synthesise, certify and check."""
    kind: Any = take_word("auto", "polynomial", "polyhedron")(sets)
    way: Any = take_word("auto", "sos", "sdsos")(squares)
    if not problem.environment.controls:
        what = "the environment has no real controls that a shield could set"
        fix = "shields of actions are made by the command `surefoot shield`"
        raise Unsupported(what, fix=fix)
    tried: Any = (2, 4) if degrees is None else take_tuple(_take_degree, "degrees")(degrees)
    if degrees is not None and kind == "polyhedron":
        raise InvalidProblem("a polyhedron has no degree", fix="leave `degrees` or `sets` out")
    if degrees is not None and kind == "auto":
        kind = "polynomial"  # who asks for degrees means polynomials
    return CertifiedShield(
        make_certified_shield(problem, shapes_for(kind, tried, way), budget, sketches=sketches)
    )


def _take_degree(given: object) -> int:
    degree = whole_number(given)
    if degree not in range(2, 13, 2):
        raise WrongType(f"{describe_value(given)} is not a degree", fix="give even numbers up to 12: (2, 4)")
    return degree
