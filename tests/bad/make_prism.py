"""Bad PRISM models, questions and property files, with the one line that refuses each."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

START = "mdp\n"
MODULE = "module m\n x : [0..3];\n [a] x=0 -> (x'=1);\n [] x=1 -> true;\nendmodule\n"
REWARDS = 'rewards "r" x=0 : 1; endrewards\n'


@dataclass(frozen=True, slots=True)
class BadPrism:
    """`message`: after the path of the file."""

    name: str
    text: str
    message: str
    question: str = "Pmax=? [ F x=1 ]"
    constants: dict[str, str] = field(default_factory=dict)


def _command(text: str) -> str:
    return f"{START}module m\n x : [0..3];\n b : bool;\n {text}\nendmodule\n"


MODELS = (
    BadPrism("no module", "mdp\nconst int N = 2;\n",
             ":3:1: the model has no module; fix: add `module … endmodule`"),
    BadPrism(
        "misspelt section",
        "mdp\nmodul m endmodule",
        ":2:1: a declaration such as `module`, `const` or `label` is expected, not `modul`;"
        " fix: did you mean `module`?",
    ),
    BadPrism(
        "timed automata",
        "pta\n" + MODULE,
        ":1:1: models of type `pta` are not supported; fix: read are dtmc, mdp, ctmc, ma",
    ),
    BadPrism("two types", "mdp\ndtmc\n" + MODULE, ":2:1: a second type of model; fix: keep one of them"),
    BadPrism(
        "clock",
        "mdp\nmodule m x : clock; endmodule",
        ":2:14: variables of type `clock` are not supported; fix: use integers",
    ),
    BadPrism(
        "keyword as a name",
        "mdp\nmodule m C : [0..1]; endmodule",
        ":2:10: `C` is a keyword and cannot be the name of a variable; fix: rename it",
    ),
    BadPrism(
        "sum of probabilities",
        _command("[] x=0 -> 0.5 : (x'=1) + 0.4 : (x'=2);"),
        ":5:12: the probabilities 0.5 + 0.4 add up to 0.9; fix: they have to add up to exactly 1",
    ),
    BadPrism(
        "nearly one",
        _command("[] x=0 -> 0.3333333333 : (x'=1) + 0.6666666666 : (x'=2);"),
        ":5:12: the probabilities 0.3333333333 + 0.6666666666 add up to 0.9999999999;"
        " fix: they have to add up to exactly 1;"
        " as the sum is within 1e-9 of 1, --normalise divides each of them by it",
    ),
    BadPrism(
        "probability above 1",
        _command("[] x=0 -> 1.5 : (x'=1) + -0.5 : (x'=2);"),
        ":5:12: probability 1.5 is not between 0 and 1",
    ),
    BadPrism(
        "unknown variable",
        _command("[] y=0 -> (x'=1);"),
        ":5:5: `y` is not declared; fix: known names: `x`, `b`",
    ),
    BadPrism(
        "unknown variable in an update",
        _command("[] x=0 -> (z'=1);"),
        ":5:13: there is no variable `z`; fix: known names: `x`, `b`",
    ),
    BadPrism(
        "assigned twice",
        _command("[] x=0 -> (x'=1) & (x'=2);"),
        ":5:22: `x` is assigned twice; fix: keep one of them",
    ),
    BadPrism(
        "real value into an integer",
        _command("[] x=0 -> (x'=x/2);"),
        ":5:16: `x / 2` is a real number, but an integer is needed; fix: round it with floor, ceil or round",
    ),
    BadPrism(
        "truth value as a number",
        _command("[] x=0 -> (x'=b);"),
        ":5:16: `b` is a truth value, but an integer is needed; fix: write (b ? 1 : 0)",
    ),
    BadPrism(
        "number as a guard",
        _command("[] x -> (x'=1);"),
        ":5:5: `x` is an integer, but a truth value is needed; fix: compare it with something: `x > 0`",
    ),
    BadPrism(
        "foreign variable",
        START + MODULE + "module n y : [0..1]; [] y=0 -> (x'=1); endmodule\n",
        ":7:33: `x` belongs to module `m`; fix: assign it there",
    ),
    BadPrism(
        "global in a joint step",
        START + "global g : [0..1];\nmodule m\n [a] g=0 -> (g'=1);\nendmodule\n",
        ":4:14: global variable `g` is assigned by a command with an action;"
        " fix: leave out the action, or make the variable local",
    ),
    BadPrism(
        "initial value outside",
        "mdp\nmodule m x : [0..3] init 4; endmodule",
        ":2:26: `x` starts with 4, outside 0 to 3; fix: change one of them",
    ),
    BadPrism(
        "empty range",
        "mdp\nmodule m x : [3..0]; endmodule",
        ":2:15: the lower bound 3 is above the upper bound 0; fix: swap them",
    ),
    BadPrism(
        "initial value beside init",
        "mdp\nmodule m x : [0..3] init 1; endmodule\ninit x<2 endinit",
        ":2:10: an initial value beside `init … endinit`; fix: say it in one of the two",
    ),
    BadPrism(
        "constant without a value",
        START + "const int N;\n" + MODULE,
        ":2:11: constant `N` has no value; fix: give one: --const N=…",
    ),
    BadPrism(
        "constants in a circle",
        START + "const int N = M; const int M = N+1;\n" + MODULE,
        ":2:11: constant `N` depends on itself; fix: break the cycle",
    ),
    BadPrism(
        "formulas in a circle",
        START + "formula f = g; formula g = !f;\n" + MODULE,
        ":2:13: formula `g` depends on itself; fix: break the cycle",
    ),
    BadPrism(
        "renaming that leaves a variable out",
        START + MODULE + "module n = m [a=b] endmodule\n",
        ":7:8: variable `x` of `m` is not renamed; fix: add x=…",
    ),
    BadPrism(
        "copy of an unknown module",
        START + MODULE + "module n = o [x=y] endmodule\n",
        ":7:12: there is no module `o`; fix: known names: `m`, `n`",
    ),
    BadPrism(
        "composition without a module",
        START + MODULE + "module n = m [x=y] endmodule\nsystem m endsystem\n",
        ":8:8: module `n` is missing in the composition; fix: add it",
    ),
    BadPrism(
        "rates in an mdp",
        _command("<> x=0 -> 3 : (x'=1);"),
        ":5:2: a command with rates in a model of type mdp; fix: use `[` and `]`",
    ),
    BadPrism(
        "negative rate",
        "ctmc\nmodule m x : [0..3]; [] x=0 -> -2 : (x'=1); endmodule",
        ":2:32: rate -2 is negative",
    ),
    BadPrism(
        "modulo zero",
        _command("[] x=0 -> (x'=mod(x,0));"),
        ":5:22: `mod` by a number below 1 has no value; fix: use a positive divisor",
    ),
    BadPrism(
        "unknown function",
        _command("[] x=0 -> (x'=floot(1.5));"),
        ":5:16: unknown function `floot`; fix: did you mean `floor`?",
    ),
    BadPrism(
        "percent",
        _command("[] x%2=0 -> (x'=1);"),
        ":5:6: unexpected character `%`; fix: write mod(a, b)",
    ),
    BadPrism(
        "arrow without space",
        _command("[] x<-1 -> (x'=1);"),
        ":5:6: `<-` renames actions; fix: write a space between `<` and `-`",
    ),
    BadPrism(
        "label in a guard",
        START + 'label "l" = true;\n' + 'module m x : [0..1]; [] "l" -> true; endmodule\n',
        ":3:25: label \"l\" cannot be used here; fix: labels belong into properties; use a formula",
    ),
    BadPrism(
        "built-in label",
        START + MODULE + 'label "init" = x=0;\n',
        ":7:7: the label \"init\" is built in; fix: give this one another name",
    ),
    BadPrism("quotes", START + 'label "l = x;\n',
             ':2:7: a name in quotes is not closed; fix: end it with "'),
    BadPrism("nothing closes the module", "mdp\nmodule m x : [0..1];",
             ":2:21: `endmodule` or a command with `[` in front is expected, not the end of the text"),
    BadPrism(
        "wrong constant from outside",
        START + "const int N;\n" + MODULE,
        "--const N: constant `N` is an integer, not 0.5; fix: give another value",
        constants={"N": "0.5"},
    ),
    BadPrism(
        "unknown constant from outside",
        START + MODULE,
        "--const: the model has no constant `K`; fix: no names are declared",
        constants={"K": "1"},
    ),
)  # fmt: skip
_GOOD = START + MODULE + REWARDS + 'label "goal" = x=1;\n'
QUESTIONS = (
    BadPrism("steady state", _GOOD, "1:1: steady-state probabilities are not supported; fix: ask for P or R",
             'S=? [ "goal" ]'),
    BadPrism("several objectives", _GOOD,
             "1:1: questions with several objectives are not supported; fix: ask one by one",
             'multi(Pmax=? [ F "goal" ], P>=0.5 [ F x=2 ])'),
    BadPrism("nested", _GOOD, "1:12: `P` inside an expression is not supported;"
             " fix: ask about one formula over conditions on states", 'Pmax=? [ F P>0.5 [ X "goal" ] ]'),
    BadPrism("path in a path", _GOOD, "1:12: `G` inside an expression is not supported;"
             " fix: ask about one formula over conditions on states", 'Pmax=? [ F G "goal" ]'),
    BadPrism("unknown label", _GOOD, '1:12: there is no label "gaol"; fix: did you mean `goal`?',
             'Pmax=? [ F "gaol" ]'),
    BadPrism("unknown rewards", _GOOD, '1:3: there are no rewards "s"; fix: known names: `r`',
             'R{"s"}max=? [ F "goal" ]'),
    BadPrism("rewards number", _GOOD, "1:3: there are no rewards number 2; fix: the model has 1",
             'R{2}max=? [ F "goal" ]'),
    BadPrism("total reward", _GOOD, "1:11: the total reward `C` is not supported; fix: write C<=k, or F GOAL",
             "R max=? [ C ]"),
    BadPrism("no bracket", _GOOD, "1:8: `[` after `Pmax` is expected, not `F`", 'Pmax=? F "goal"'),
    BadPrism("no path", _GOOD, "1:16: a path formula with `U`, `W` or `R`, or `X`, `F`, `G` in front, is"
             " expected, not `]`; fix: write F GOAL for: the goal is reached", 'Pmax=? [ "goal"]'),
    BadPrism("empty bounds", _GOOD, "1:11: the lower bound is above the upper bound; fix: swap them",
             'Pmax=? [ F[5,2] "goal" ]'),
    BadPrism("negative bound", _GOOD, "1:14: -1 is not a number of steps; fix: use a whole number from 0 on",
             'Pmax=? [ F<=(-1) "goal" ]'),
    BadPrism("two questions", _GOOD, "1:21: a combination of questions is not supported; fix: ask one by one",
             'Pmax=? [ F "goal" ] + 1'),
    BadPrism("range", _GOOD, "1:8: the filter `range` is not supported; fix: ask with min and with max",
             'filter(range, Pmax=? [ F "goal" ])'),
    BadPrism("unknown filter", _GOOD, "1:8: unknown filter `mix`; fix: did you mean `min`?",
             'filter(mix, Pmax=? [ F "goal" ])'),
    BadPrism("instant from anywhere", _GOOD, "1:13: `I=k` from other states than the initial ones is not"
             ' supported; fix: end with , "init")', "filter(max, Rmax=? [ I=2 ])"),
    BadPrism("filter of a condition", _GOOD,
             "1:13: the filter `avg` of a condition on states is not supported;"
             " fix: use forall, exists or count", 'filter(avg, "goal")'),
    BadPrism("choice in a choice", _GOOD, "1:22: `?` inside `?` needs parentheses here; fix: write"
             " a ? (b ? c : d) : e", "Pmax=? [ F x=1 ? x=2 ? true : false : true ]"),
    BadPrism("coalition", _GOOD, "1:1: coalitions of players are not supported; fix: ask Pmin or Pmax",
             '<<a>> Pmax=? [ F "goal" ]'),
)  # fmt: skip


def write_prism(bad: BadPrism, folder: Path) -> Path:
    path = folder / "bad.prism"
    path.write_text(bad.text, encoding="utf-8")
    return path
