# ruff: noqa: E501 - one case on each line
"""Random step functions as Python source: branches, loops, helpers, arrays, of whole and real numbers."""

import importlib.util
import random
from pathlib import Path

HEAD = "import math\nimport numpy as np\nfrom math import floor\n\nTABLE = [0.5, -1.25, 2.0, 0.75, -0.1]\nSIZES = np.array([3, 1, 4, 1, 5])\n\n\ndef bend(a, b):\n    if a > b:\n        return a - b\n    return b * 0.5\n\n\n"


class ProgramMaker:
    """`reals` and `wholes` are names in scope; expressions have small depth."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.reals, self.wholes, self.truths = ["x", "y", "u"], ["n", "k"], ["b"]
        self.fresh = 0

    def pick(self, *choices):
        return self.rng.choice(choices)

    def constant(self) -> str:
        return self.pick("0.5", "-1.25", "0.1", "2.0", "3", "1e-3", "-0.7", "1.0", "0.0")

    def real(self, depth: int = 2) -> str:
        if depth == 0:
            return self.pick(self.rng.choice(self.reals), self.constant(), self.rng.choice(self.wholes))
        a, b = self.real(depth - 1), self.real(depth - 1)
        n = self.whole(depth - 1)
        return self.pick(
            f"({a} + {b})", f"({a} - {b})", f"({a} * {b})", f"({a} / 4)", f"({a} / (1.5 + {b} * {b}))", f"-({a})",
            f"abs({a})", f"min({a}, {b})", f"max({a}, {b}, 0.25)", f"np.clip({a}, -2, 2)", f"np.minimum({a}, {b})",
            f"({a} if {self.truth(depth - 1)} else {b})", f"np.where({self.truth(depth - 1)}, {a}, {b})",
            f"(np.clip({a}, -9.0, 9.0) % {self.pick('0.7', '2.0', '2 * math.pi', '3')})", f"(np.clip({a}, -9.0, 9.0) // {self.pick('0.7', '0.5')})",
            f"math.fmod(np.clip({a}, -9.0, 9.0), 1.3)", f"bend({a}, {b})", f"TABLE[{n} % 5]", f"float({n})", f"np.sign({a})",
            f"np.round({a}, 1)", f"math.sqrt(abs({a}))", f"np.square({a})", f"math.copysign({a}, {b} + 0.123)",
            f"sum([{a}, {b}, 0.5])", f"np.array([{a}, {b}, 1.0]).sum()", f"np.max([{a}, {b}])", f"math.floor({a})", f"round({a})",
            f"np.interp({a}, [-1.0, 0.0, 1.5], [2.0, -1.0, 0.5])", f"max([{a}, {b}])", f"({a}) * ({self.truth(depth - 1)})",
        )  # fmt: skip

    def whole(self, depth: int = 2) -> str:
        if depth == 0:
            return self.pick(self.rng.choice(self.wholes), str(self.rng.randint(-3, 7)))
        a, b = self.whole(depth - 1), self.whole(depth - 1)
        r = self.real(depth - 1)
        return self.pick(
            f"({a} + {b})", f"({a} - {b})", f"({a} * {b})", f"({a} // {self.pick('3', '-2', '4')})", f"({a} % {self.pick('3', '-4', '7')})",
            f"abs({a})", f"min({a}, {b})", f"max({a}, {b})", f"({a} if {self.truth(depth - 1)} else {b})", f"int({r})", f"floor({r})",
            f"int({self.truth(depth - 1)})", f"({a} ** 2)", "len(TABLE)", f"int(SIZES[{a} % 5])", f"-({a})",
            f"int(np.digitize({r}, [-1.0, 0.0, 1.0]))", f"int(np.argmax([{r}, 0.5, x]))", f"({a} + ({self.truth(depth - 1)}))",
        )  # fmt: skip

    def truth(self, depth: int = 1) -> str:
        if depth == 0:
            return self.pick(
                self.rng.choice(self.truths), f"{self.rng.choice(self.reals)} > {self.constant()}"
            )
        a, b, n, m = self.real(depth - 1), self.real(depth - 1), self.whole(depth - 1), self.whole(depth - 1)
        p, q = self.truth(depth - 1), self.truth(depth - 1)
        found = self.pick(
            f"{a} < {b}", f"{a} >= {b}", f"{n} == {m}", f"{n} != {m}", f"-1 < {a} <= 1", f"({p} and {q})", f"({p} or {q})", f"not ({p})",
            f"{n} in (1, 2, 3)", f"bool({a} > 0)", f"bool({p}) != bool({q})", f"any([{p}, {q}])", f"isinstance({a}, float) and {p}",
        )  # fmt: skip
        return f"({found})"

    def statements(self, indent: str, depth: int) -> list[str]:
        lines: list[str] = []
        for _ in range(self.rng.randint(1, 3)):
            kind = self.rng.random()
            if kind < 0.35:
                lines.append(
                    f"{indent}{self.rng.choice(self.reals[:2])} {self.pick('=', '+=', '-=', '*=')} {self.real()}"
                )
            elif kind < 0.5:
                lines.append(f"{indent}{self.rng.choice(self.wholes)} = ({self.whole()}) % 6")
            elif kind < 0.6:
                lines.append(f"{indent}b = bool({self.truth()})")
            elif kind < 0.85 and depth:
                lines.append(f"{indent}if {self.truth()}:")
                lines += self.statements(indent + "    ", depth - 1)
                if self.rng.random() < 0.6:
                    lines.append(f"{indent}else:")
                    lines += self.statements(indent + "    ", depth - 1)
            elif kind < 0.95 and depth:
                lines.append(f"{indent}for i in range({self.pick('2', 'k % 3', '3')}):")
                lines.append(f"{indent}    if {self.truth(0)}:")
                lines.append(f"{indent}        {self.pick('break', 'continue')}")
                lines.append(f"{indent}    x = x * 0.5 + i")
            elif depth:
                lines.append(f"{indent}v = np.array([x, y, {self.real(1)}])")
                lines.append(f"{indent}v[{self.pick('1', 'k % 3', 'n % 3')}] = {self.real(1)}")
                lines.append(
                    f"{indent}x = {self.pick('v[n % 3]', 'v.max()', 'v[1:].sum()', '(v * v)[0]', 'v.mean()')}"
                )
            else:
                lines.append(f"{indent}y = {self.real(1)}")
        return lines

    def source(self) -> str:
        body = self.statements("    ", 2)
        if self.rng.random() < 0.3:
            body.insert(
                len(body) // 2
                if body[len(body) // 2].startswith("    ")
                and not body[len(body) // 2].startswith("     ")
                and not body[len(body) // 2].strip().startswith("else")
                else 0,
                f"    if {self.truth()}:\n        return float(np.clip(x, -9, 9)), 0.5, n % 6, 2, b",
            )
        ending = "    return float(np.clip(x, -9, 9)), np.clip(y, -9, 9), int(n) % 6, int(k) % 6, bool(b)"
        return HEAD + "def step(x, y, n, k, b, u):\n" + "\n".join([*body, ending]) + "\n"


def load_step(source: str, folder: Path, number: int):
    """The function of a source text, from a file, so that lines can be named."""
    path = folder / f"step_{number}.py"
    path.write_text(source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(f"random_step_{number}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.step
