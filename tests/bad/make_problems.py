# ruff: noqa: E501 - one file with its message on each line
"""Bad problem files and the exact line that each must give; run with a folder to have them written there."""

import sys
from dataclasses import dataclass
from pathlib import Path

HEAD = '[variables]\nx = "int 0..9"\ny = "real [0, 1]"\n'
EDGES = '[[edges]]\naction = "go"\n'
POLICY = '[policy.program]\nbranches = [{ action = "go" }]\n'
ASKED = '[properties]\nsafe = "never x > 5"\n'
KINDS = "write bool, int 0..10, real [0, 1], real >= 0, float32 [0, 1] or array 5 of int 0..3"
UNLIMITED = "leave the limit out: `real`, `real >= 0`, `real <= 1`"
DEEP = "the expression nests more than 200 levels deep; fix: split it, or write sum(a, b, …) for a long chain of additions"
LINES = 'write lines such as key = "value", below headers such as [variables]'
END = "the text ends where a number, a name or `(` is expected; fix: write what is missing"


@dataclass(frozen=True)
class Bad:
    name: str
    content: str | bytes
    message: str  # after the name of the file


def asked(text: str) -> str:
    """A problem file whose property, at line 9 column 9, is this text."""
    return HEAD + EDGES + POLICY + f"[properties]\nsafe = '{text}'\n"


def kind(text: str) -> str:
    """A problem file whose variable `z`, at line 4 column 6, is of this kind."""
    return HEAD + f'z = "{text}"\n' + EDGES + POLICY + ASKED


def edge(text: str) -> str:
    """A problem file with this line in its edge, at line 6."""
    return HEAD + EDGES + text + "\n" + POLICY + ASKED


LIMITS = [
    Bad(
        "int-limits-swapped",
        kind("int 3..2"),
        ":4:6: the lower limit 3 of `z` is above its upper limit 2; fix: swap them",
    ),
    Bad(
        "real-limits-swapped",
        kind("real [1, 0.5]"),
        ":4:6: the lower limit 1 of `z` is above its upper limit 0.5; fix: swap them",
    ),
    Bad("nan-limit", kind("real [0, nan]"), f":4:15: `nan` is not a limit; fix: {UNLIMITED}"),
    Bad("infinite-limit", kind("real [-1, Infinity]"), f":4:16: `Infinity` is not a limit; fix: {UNLIMITED}"),
    Bad(
        "infinite-limit-below",
        kind("real [-inf, 1]"),
        ":4:13: unknown name `inf`; fix: no names are declared",
    ),
    Bad(
        "toml-nan",
        "[constants]\nN = nan\n" + HEAD,
        ":2:5: `nan` is not a number; fix: write a finite number, or leave the limit out",
    ),
    Bad(
        "toml-infinity",
        "[constants]\nN = -inf\n" + HEAD,
        ":2:5: `-inf` is not a number; fix: write a finite number, or leave the limit out",
    ),
    Bad("broken-kind", kind("integer"), f":4:6: this is not a kind of value; fix: {KINDS}"),
    Bad(
        "int-with-a-real-limit",
        kind("int 0..1/2"),
        ":4:6: an integer has a limit that is not a whole number; fix: round it",
    ),
    Bad("limit-divided-by-zero", kind("real [0, 1/0]"), ":4:15: division by zero in `/`"),
]
TERMS = [
    Bad("empty-property", asked(""), ":9:1: the property is empty; fix: write `never BAD` first"),
    Bad(
        "empty-disjunction",
        asked("never ()"),
        ":9:16: unexpected `)` where a number, a name or `(` is expected; fix: write what is missing",
    ),
    Bad("dangling-and", asked("never x > 5 and"), f":9:24: {END}"),
    Bad(
        "open-parenthesis",
        asked("never (x > 5"),
        ":9:21: the text ends where `)` after the expression is expected; fix: add `)`",
    ),
    Bad(
        "closing-parenthesis",
        asked("never x > 5)"),
        ":9:20: unexpected `)` where the end of the property is expected; fix: remove it, or write an operator before it",
    ),
    Bad(
        "underscore-number",
        asked("never x > 1_000"),
        ":9:19: `1_000` is not a number; fix: write numbers like 12, 0.25 or 1e-3",
    ),
    Bad(
        "arabic-digits",
        asked("never x > ٣"),
        ":9:19: `٣` is not one of the digits 0 to 9; fix: write ASCII digits",
    ),
    Bad(
        "exponent-1e999",
        asked("never output[0] > 1e99999"),
        ":9:27: the exponent of `1e99999` is too large; fix: exponents go from -10000 to 10000",
    ),
    Bad(
        "giant-exponent",
        asked("never x > 1e1000000000"),
        ":9:19: the exponent of `1e1000000000` is too large; fix: exponents go from -10000 to 10000",
    ),
    Bad(
        "too-many-digits",
        asked("never x > " + "7" * 10_001),
        ":9:19: a number of 10001 digits; fix: at most 10000 digits are read",
    ),
    Bad(
        "toml-giant-exponent",
        "[constants]\nN = 1e1000000000\n" + HEAD,
        ":2:5: the exponent of `1e1000000000` is too large; fix: exponents go from -10000 to 10000",
    ),
    Bad(
        "toml-5000-digits",
        "[constants]\nN = " + "7" * 5000 + "\n" + HEAD,
        ": a number has too many digits; fix: write it as text in quotes",
    ),
    Bad("deep-parentheses", asked("never " + "(" * 100_000), f":9:214: {DEEP}"),
    Bad("deep-negations", asked("never " + "!" * 100_000 + "x"), f":9:214: {DEEP}"),
    Bad(
        "toml-deep-arrays",
        "x = " + "[" * 100_000,
        ": values are nested too deeply; fix: nest at most 200 levels",
    ),
    Bad(
        "toml-long-key", "a." * 400_000 + "a = 1", ":1:1: a key of more than 40 parts; fix: use shorter keys"
    ),
    Bad("infinite-term", asked("never y < inf"), ":9:19: unknown name `inf`; fix: known names: `x`, `y`"),
    Bad("unknown-name", asked("never speed > 5"), ":9:15: unknown name `speed`; fix: known names: `x`, `y`"),
    Bad(
        "unknown-function",
        asked("never square(x) > 5"),
        ":9:15: unknown function `square`; fix: did you mean `sqrt`?",
    ),
    Bad(
        "typed-wrongly",
        asked("never x + (x > 1) > 5"),
        ":9:9: `x > 1` is a truth value, but `+` needs numbers in `x + (x > 1)`; fix: turn it into a number: `ite(x > 1, 1, 0)`",
    ),
    Bad(
        "output-of-a-program",
        asked("never output[0] > 1"),
        ":9:9: `output[0]`: the policy has 0 outputs; fix: only a network policy has outputs",
    ),
    Bad(
        "unknown-action",
        asked("never chosen(stop)"),
        ":9:9: `stop` is not an action of the policy; fix: known names: `go`",
    ),
    Bad(
        "unknown-kind-of-property",
        asked("nevr x > 5"),
        ":9:9: unknown kind of property `nevr`; fix: did you mean `never`?",
    ),
    Bad(
        "after-beyond-steps",
        asked("within 3 x > 5 after 4"),
        ":9:9: the property looks at states from number 4 to number 3: there are none; fix: `after` is at most the number of steps",
    ),
    Bad(
        "misspelled-operator",
        asked("never x > 5 adn y > 0"),
        ":9:21: unexpected `adn` where the end of the property is expected; fix: did you mean `and`?",
    ),
    Bad(
        "operator-of-another-language",
        edge('guard = "x > 5 || y > 0"'),
        ":6:16: unexpected `||` where an operator is expected; fix: did you mean `or`?",
    ),
    Bad(
        "one-step-too-few",
        asked("never x > 5 for 4 step"),
        ":9:27: unexpected `step` where `steps` after the number is expected; fix: did you mean `steps`?",
    ),
    Bad(
        "misspelled-reserved-name",
        asked("never stalledd"),
        ":9:15: unknown name `stalledd`; fix: did you mean `stalled`?",
    ),
    Bad(
        "output-without-number",
        asked("never output > 1"),
        ":9:15: unknown name `output`; fix: did you mean `output[0]`?",
    ),
    Bad(
        "number-as-guard",
        edge('guard = "x + 1"\nupdates = { x = "x + 1" }\n[[edges]]\nguard = "x > 0"'),
        ":6:10: `x + 1` is an integer, but a truth value is needed; fix: compare it with something: `x + 1 > 0`",
    ),
    Bad(
        "number-as-second-guard",
        edge('guard = "x > 1"\n[[edges.outcomes]]\n[[edges]]\nguard = "x"'),
        ":9:10: `x` is an integer, but a truth value is needed; fix: compare it with something: `x > 0`",
    ),
]
STRUCTURE = [
    Bad(
        "missing-network",
        HEAD + EDGES + '[policy]\nfile = "nowhere.onnx"\n' + ASKED,
        ":7:9: there is no such file; fix: check the path, which is relative to this file",
    ),
    Bad(
        "unquoted-guard",
        edge("guard = x > 0"),
        ':6:9: not valid TOML: invalid value; fix: put text in quotes: key = "value"',
    ),
    Bad(
        "no-property",
        HEAD + EDGES + POLICY,
        ':properties: the file has no property; fix: add [properties] with a line such as safe = "never x > 10"',
    ),
    Bad(
        "no-policy",
        HEAD + EDGES + '[properties]\nsafe = "P=? [ F x > 5 ]"\n',
        ":policy: the property needs a policy, and there is none; fix: give one, or ask about the optimum with Pmin, Pmax, Emin or Emax",
    ),
    Bad(
        "no-edges", HEAD + POLICY + ASKED, ":edges: there are no edges; fix: add at least one [[edges]] table"
    ),
    Bad(
        "declared-twice",
        HEAD + 'x = "bool"\n',
        ":4:11: not valid TOML: cannot overwrite a value; fix: keep one of the two values",
    ),
    Bad(
        "constant-and-variable",
        "[constants]\nx = 1\n" + HEAD + EDGES,
        ":2:1: `x` is both a constant and a variable; fix: rename one of them",
    ),
    Bad(
        "reserved-name",
        HEAD + 'stalled = "bool"\n' + EDGES + POLICY + ASKED,
        ":4:12: `stalled` is a reserved name; fix: rename it",
    ),
    Bad(
        "not-toml",
        "never x > 5",
        f":1:7: not valid TOML: expected '=' after a key in a key/value pair; fix: {LINES}",
    ),
    Bad("unfinished", HEAD + 'z = "', ":4:6: not valid TOML: unterminated string; fix: close the quotes"),
    Bad(
        "unknown-key",
        'initail = "x = 0"\n' + HEAD,
        ":1:12: unknown key `initail`; fix: did you mean `initial`?",
    ),
    Bad(
        "unknown-edge-key", edge('gaurd = "x > 0"'), ":6:10: unknown key `gaurd`; fix: did you mean `guard`?"
    ),
    Bad(
        "guard-is-a-list",
        edge("guard = []"),
        ':6:1: `guard` has to be text in quotes; fix: write guard = "…"',
    ),
    Bad("bad-guard", edge('guard = "x > "'), f":6:14: {END}"),
    Bad(
        "same-bad-guard-twice",
        edge('guard = "x > "\n[[edges]]\nguard = "x > "'),
        f":6:14: {END}",
    ),
    Bad(
        "assigned-twice",
        edge('updates = { x = 1, "x " = 2 }'),
        ":edges[0].updates.x : `x` is assigned twice at once; fix: keep one of them",
    ),
    Bad(
        "real-into-integer",
        edge('updates = { x = "y" }'),
        ":6:18: `y` is a real number, but an integer is needed; fix: round it with floor, ceil or trc",
    ),
    Bad(
        "unknown-target", edge('updates = { z = "y" }'), ":6:18: unknown name `z`; fix: known names: `x`, `y`"
    ),
    Bad(
        "probability-above-one",
        edge("outcomes = [{ probability = 1.5 }]"),
        ":edges[0].outcomes[0].probability: probability 1.5 is not between 0 and 1",
    ),
    Bad(
        "probabilities-below-one",
        edge("outcomes = [{ probability = 0.9 }, { probability = 0.0999999 }]"),
        ":edges[0]: the probabilities 0.9 + 0.0999999 add up to 0.9999999; fix: they have to add up to exactly 1",
    ),
    Bad(
        "unknown-branch-action",
        HEAD + EDGES + POLICY.replace('"go"', '"og"') + ASKED,
        ":7:25: the environment has no action `og`; fix: known names: `go`",
    ),
    Bad(
        "two-line-name",
        HEAD + '"a\\nb" = "int 3..2"\n' + EDGES + POLICY + ASKED,
        ":4:11: the lower limit 3 of `a\\u{a}b` is above its upper limit 2; fix: swap them",
    ),
]
FILES = [
    Bad("empty", "", ": the file is empty; fix: check the path, or write the file again"),
    Bad("utf-16", HEAD.encode("utf-16"), ": byte 0 is not part of a UTF-8 text; fix: save the file as UTF-8"),
    Bad(
        "binary",
        b"\x89PNG\r\n\x1a\n" + bytes(range(256)),
        ": byte 0 is not part of a UTF-8 text; fix: save the file as UTF-8",
    ),
    Bad("zeros", bytes(100), f":1:1: not valid TOML: invalid statement; fix: {LINES}"),
    Bad("too-large", "#" * 1_000_001, ": the file has 1000001 bytes; fix: at most 1000000 are read"),
    Bad(
        "lone-surrogate",
        '"\\ud800" = 1',
        ":1:8: not valid TOML: escaped character is not a Unicode scalar value; fix: write the character itself",
    ),
]
DEFINED = "[definitions]\n"
PAIR = (
    '[[components]]\nname = "a"\nedges = [{ action = "go" }]\n[[components]]\nname = "b"\nedges = [{ action = "go" }]\n'
    '[[synchronisations]]\nactions = { a = "go", b = "go" }\n'
)
RECORDED = [
    Bad(
        "defined-variable",
        HEAD + DEFINED + 'x = "true"\n' + EDGES + POLICY + ASKED,
        ":5:6: `x` is both defined and a variable; fix: rename one of them",
    ),
    Bad(
        "defined-constant",
        HEAD + "[constants]\nN = 3\n" + DEFINED + 'N = "x > 1"\n' + EDGES + POLICY + ASKED,
        ":7:6: `N` is both defined and a constant; fix: rename one of them",
    ),
    Bad(
        "defined-by-unknown",
        HEAD + DEFINED + 'far = "z > 1"\n' + EDGES + POLICY + ASKED,
        ":5:8: unknown name `z`; fix: known names: `x`, `y`",
    ),
    Bad(
        "defined-by-later",
        HEAD + DEFINED + 'far = "near"\nnear = "x > 1"\n' + EDGES + POLICY + ASKED,
        ":5:8: unknown name `near`; fix: known names: `x`, `y`",
    ),
    Bad(
        "definition-broken",
        HEAD + DEFINED + 'far = "x >"\n' + EDGES + POLICY + ASKED,
        ":5:11: the text ends where a number, a name or `(` is expected; fix: write what is missing",
    ),
    Bad(
        "definitions-as-list",
        "definitions = []\n" + HEAD + EDGES + POLICY + ASKED,
        ':1:1: `definitions` has to be a table; fix: write definitions = { key = "value" }',
    ),
    Bad(
        "defined-in-a-guard",
        HEAD + DEFINED + 'far = "x > 1"\n' + EDGES + 'guard = "far"\n' + POLICY + ASKED,
        ":8:10: unknown name `far`; fix: known names: `x`, `y`",
    ),
    Bad(
        "defined-number-asked",
        HEAD + DEFINED + 'far = "x + 1"\n' + EDGES + POLICY + '[properties]\nsafe = "never far"\n',
        ":11:9: `x + 1` is an integer, but a truth value is needed; fix: compare it with something: `x + 1 > 0`",
    ),
    Bad(
        "silent-and-result",
        HEAD + PAIR + 'silent = true\nresult = "both"\n' + POLICY + ASKED,
        ":13:11: a `result` beside `silent = true`; fix: keep one of them",
    ),
    Bad(
        "silent-as-text",
        HEAD + PAIR + 'silent = "yes"\n' + POLICY + ASKED,
        ":12:11: `silent` has to be true or false; fix: write silent = true",
    ),
    Bad(
        "notes-as-text",
        'notes = "one"\n' + HEAD + EDGES + POLICY + ASKED,
        ':1:10: `notes` has to be a list; fix: write notes = ["x", "y"]',
    ),
    Bad(
        "note-as-number",
        "notes = [1]\n" + HEAD + EDGES + POLICY + ASKED,
        ':notes[0]: `notes[0]` has to be text in quotes; fix: write "…"',
    ),
    Bad(
        "overapproximate-as-text",
        'overapproximate = "yes"\n' + HEAD + EDGES + POLICY + ASKED,
        ":1:20: `overapproximate` has to be true or false; fix: write overapproximate = true",
    ),
    Bad(
        "normalised-as-truth",
        "normalised = true\n" + HEAD + EDGES + POLICY + ASKED,
        ':1:1: `normalised` has to be a list; fix: write normalised = ["x", "y"]',
    ),
    Bad(
        "number-of-a-single-location",
        HEAD + EDGES + 'guard = "`@main` = 0"\n' + POLICY + ASKED,
        ":6:10: unknown name `@main`; fix: known names: `x`, `y`",
    ),
    Bad(
        "definition-without-kind",
        HEAD + DEFINED + 'far = "x + true"\n' + EDGES + POLICY + ASKED,
        ":5:8: `true` is a truth value, but `+` needs numbers in `x + true`; fix: turn it into a number: `ite(true, 1, 0)`",
    ),
    Bad(
        "definition-without-name",
        HEAD + DEFINED + '"" = "x > 1"\n' + EDGES + POLICY + ASKED,
        ":5:7: a name is empty; fix: give it a name",
    ),
    Bad(
        "definition-reserved",
        HEAD + DEFINED + 'stalled = "x > 1"\n' + EDGES + POLICY + ASKED,
        ":5:12: `stalled` is a reserved name; fix: rename it",
    ),
]
ALL = [*LIMITS, *TERMS, *STRUCTURE, *FILES, *RECORDED]


def write(bad: Bad, folder: Path) -> Path:
    path = folder / f"{bad.name}.toml"
    path.write_bytes(bad.content if isinstance(bad.content, bytes) else bad.content.encode("utf-8"))
    return path


if __name__ == "__main__":
    for each in ALL:
        print(write(each, Path(sys.argv[1])))
