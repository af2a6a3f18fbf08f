"""Bad VNN-LIB files and the exact line that each must give; run with a folder to have them written there."""

import gzip
import sys
from dataclasses import dataclass
from pathlib import Path

START = "(declare-const X_0 Real)\n(declare-const Y_0 Real)\n"
BOX = "(assert (>= X_0 0))\n(assert (<= X_0 1))\n"
OUTPUT = "(assert (<= Y_0 0))\n"
NUMBER = "write ASCII digits like 12, -0.25 or 1e-3"
RANGE = "the largest float32 number is about 3.4e38"
NAMES = "inputs are X_0, X_1, … and outputs Y_0, Y_1, …"


@dataclass(frozen=True)
class Bad:
    name: str
    content: str | bytes
    message: str


def bound(word: str) -> str:
    """A specification whose upper bound, at line 3 column 17, is this word."""
    return START + f"(assert (<= X_0 {word}))\n(assert (>= X_0 0))\n" + OUTPUT


def term(text: str) -> str:
    """A specification with this assertion at line 5."""
    return START + BOX + text + "\n"


STRUCTURE = [
    Bad("open", START + BOX + "(assert (<= Y_0 0)", "5:1: this `(` is not closed; fix: add the missing `)`"),
    Bad(
        "open-inside",
        START + "(assert (>= X_0 0)\n" + OUTPUT,
        "3:1: this `(` is not closed; fix: add the missing `)`",
    ),
    Bad(
        "open-long-before-the-end",
        START + "(assert (>= X_0 0)\n" + OUTPUT * 200 + ")",
        "3:1: this `(` is not closed; fix: add the missing `)`",
    ),
    Bad(
        "closed-twice",
        START + BOX + "(assert (<= Y_0 0)))\n",
        "5:20: `)` closes nothing; fix: remove it, or add the `(` that it closes",
    ),
    Bad(
        "deep",
        term("(assert " + "(and " * 10**5),
        "5:504: more than 100 nested lists; fix: flatten the formula",
    ),
    Bad(
        "deep-and-closed",
        term("(assert (<= Y_0 " + "(- " * 10**5 + "1" + ")" * 10**5 + "))"),
        "5:311: more than 100 nested lists; fix: flatten the formula",
    ),
    Bad("loose-word", "hello", "1:1: `hello` stands outside any list; fix: put it in parentheses"),
    Bad(
        "empty-list",
        term("(assert ())"),
        "5:9: a list must begin with a word; fix: write (assert …) or (<= X_0 1.0)",
    ),
    Bad(
        "unknown-command",
        term("(asert (<= Y_0 0))"),
        "5:2: unknown command `asert`; fix: did you mean `assert`?",
    ),
    Bad(
        "version-2",
        "(vnnlib-version <2.0>)",
        "1:2: this is VNN-LIB 2, which is not read yet; fix: write it in version 1: declare-const, X_i, Y_i",
    ),
    Bad(
        "two-formulas", term("(assert (<= Y_0 0) (<= Y_0 1))"), "5:2: `assert` takes one formula, here are 2"
    ),
    Bad("empty-or", term("(assert (or))"), "5:9: `(or)` is empty; fix: add a formula or remove it"),
    Bad("empty-and", term("(assert (or (and)))"), "5:13: `(and)` is empty; fix: add a formula or remove it"),
    Bad("empty-sum", term("(assert (<= Y_0 (+)))"), "5:17: `(+)` is empty; fix: add a term or remove it"),
    Bad("not-a-formula", term("(assert Y_0)"), "5:9: `Y_0` is not a formula; fix: write (<= X_0 1.0)"),
    Bad(
        "unsupported-formula",
        term("(assert (=> (<= Y_0 0) (<= Y_0 1)))"),
        "5:10: `=>` is not supported as a formula; fix: formulas are built from and, or, <=, >=, <, >, =",
    ),
    Bad(
        "unsupported-term",
        term("(assert (<= (/ Y_0 2) 0))"),
        "5:14: `/` is not supported as a term; fix: terms are built from numbers, X_i, Y_i, + - *",
    ),
    Bad(
        "three-terms",
        term("(assert (<= 0 Y_0 1))"),
        "5:10: `<=` compares two terms, here are 3; fix: write one comparison for each pair",
    ),
]

VARIABLES = [
    Bad(
        "unknown-input",
        term("(assert (<= X_7 Y_0))"),
        "5:13: input X_7 is not declared; fix: add (declare-const X_7 Real); X_0 to X_0 are declared",
    ),
    Bad("unknown-name", term("(assert (<= Z Y_0))"), f"5:13: unknown name `Z`; fix: {NAMES}"),
    Bad(
        "control-characters",
        term("(assert (<= z\x00\x1b\u202e Y_0))"),
        f"5:13: unknown name `z\\x00\\x1b\\u202e`; fix: {NAMES}",
    ),
    Bad(
        "declared-twice",
        START + "(declare-const X_0 Real)\n" + BOX + OUTPUT,
        "3:16: X_0 is declared twice; fix: remove this one; the first is at 1:16",
    ),
    Bad(
        "other-name",
        "(declare-const speed Real)",
        f"1:16: `speed` is neither an input nor an output; fix: {NAMES}",
    ),
    Bad("other-kind", "(declare-const X_0 Int)", "1:20: `X_0` is declared as `Int`; fix: declare it as Real"),
    Bad(
        "many",
        "(declare-const X_99999999 Real)",
        "1:16: X_99999999 is beyond the limit of 10000000 variables",
    ),
    Bad(
        "odd-declaration",
        "(declare-const X_0)",
        "1:2: cannot read this declaration; fix: write (declare-const X_0 Real)",
    ),
    Bad(
        "gap",
        "(declare-const X_0 Real)(declare-const X_2 Real)(declare-const Y_0 Real)",
        "1:40: 2 inputs are declared, but not X_1; fix: number the inputs from 0 without gaps",
    ),
    Bad("empty", "", "1:1: no input is declared; fix: add (declare-const X_0 Real)"),
    Bad(
        "no-output",
        "(declare-const X_0 Real)",
        "1:1: no output is declared; fix: add (declare-const Y_0 Real)",
    ),
    Bad(
        "no-output-constraint",
        START + BOX,
        "2:16: no assertion mentions an output; fix: add for example (assert (<= Y_0 0))",
    ),
    Bad(
        "no-upper-bound",
        START + "(assert (>= X_0 0))\n" + OUTPUT,
        "1:16: input X_0 has no upper bound; fix: add (assert (<= X_0 …))",
    ),
    Bad(
        "no-lower-bound",
        START + "(assert (<= X_0 0))\n" + OUTPUT,
        "1:16: input X_0 has no lower bound; fix: add (assert (>= X_0 …))",
    ),
    Bad(
        "bound-in-one-disjunct",
        START + "(assert (>= X_0 0))\n(assert (or (<= X_0 1) (<= Y_0 0)))\n",
        "1:16: input X_0 has no upper bound; fix: add (assert (<= X_0 …))",
    ),
    Bad(
        "crossed",
        START + "(assert (>= X_0 1.5))\n(assert (<= X_0 0.5))\n" + OUTPUT,
        "4:9: input X_0 has lower bound 1.5 above upper bound 0.5; fix: swap or correct the bounds",
    ),
    Bad(
        "crossed-in-a-disjunct",
        term("(assert (or (and (<= X_0 0.2) (>= X_0 0.3) (<= Y_0 0)) (<= Y_0 1)))"),
        "5:31: input X_0 has lower bound 0.3 above upper bound 0.2; fix: swap or correct the bounds",
    ),
]

NUMBERS = [
    Bad("nan", bound("NaN"), "3:17: `NaN` is not a finite number; fix: write a finite bound"),
    Bad("infinity", bound("-inf"), "3:17: `-inf` is not a finite number; fix: write a finite bound"),
    Bad(
        "beyond-float32",
        bound("1e999"),
        f"3:17: `1e999` is out of the range of float32; fix: {RANGE}",
    ),
    Bad(
        "just-beyond-float32",
        bound("-340282346638528859811704183484516925440.5"),
        f"3:17: `-34028234663852885981170418348451692544…` is out of the range of float32; fix: {RANGE}",
    ),
    Bad("underscore", bound("1_000"), f"3:17: `1_000` is not a number; fix: {NUMBER}"),
    Bad("arabic", bound("٣"), f"3:17: `٣` is not a number; fix: {NUMBER}"),
    Bad("hexadecimal", bound("0x10"), f"3:17: `0x10` is not a number; fix: {NUMBER}"),
    Bad("plus", bound("+1"), f"3:17: `+1` is not a number; fix: {NUMBER}"),
    Bad("fraction", bound("1/3"), f"3:17: `1/3` is not a number; fix: {NUMBER}"),
    Bad(
        "many-digits",
        bound("0." + "1" * 10_000),
        "3:17: a number of 10001 digits; fix: at most 10000 digits are read",
    ),
    Bad(
        "many-digits-before-the-point",
        bound("5" * 5_000),
        f"3:17: `{'5' * 39}…` is out of the range of float32; fix: {RANGE}",
    ),
    Bad(
        "giant-exponent",
        bound("1e1000000000"),
        "3:17: the exponent of `1e1000000000` is too large; fix: exponents go from -10000 to 10000",
    ),
    Bad(
        "tiny-exponent",
        bound("-1e-10001"),
        "3:17: the exponent of `1e-10001` is too large; fix: exponents go from -10000 to 10000",
    ),
]

PACKED = gzip.compress((START + BOX + OUTPUT).encode())

FILES = [
    Bad("binary", b"\xff\xfe\x00(", "this is not a text file; fix: give a .vnnlib or .vnnlib.gz file"),
    Bad("damaged", PACKED[:-9], "the gzip file is damaged or cut off; fix: fetch it again"),
    Bad("garbled", PACKED[:30] + b"\x00" * 20, "the gzip file is damaged or cut off; fix: fetch it again"),
    Bad(
        "bomb",
        gzip.compress(b" " * 2**26),
        "the gzip file unpacks to more than 200 times its size; fix: give the unpacked file",
    ),
]

ALL = [*STRUCTURE, *VARIABLES, *NUMBERS, *FILES]


def write(bad: Bad, folder: Path) -> Path:
    path = folder / f"{bad.name}.vnnlib"
    path.write_bytes(bad.content if isinstance(bad.content, bytes) else bad.content.encode())
    return path


if __name__ == "__main__":
    for each in ALL:
        print(write(each, Path(sys.argv[1])), each.message)
