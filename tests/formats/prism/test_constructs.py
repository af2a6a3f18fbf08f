"""Each construct of the PRISM language in a small program, with values computed by hand."""

from fractions import Fraction
from pathlib import Path

import pytest
from tests.formats.prism.ask_prism import ask_value, ask_verdict, count_states, read_text

import surefoot as sf
from surefoot.errors import Unsupported
from surefoot.verdict.verdict import Unknown

DIE = """
dtmc
module die
  s : [0..7] init 0;
  d : [0..6] init 0;
  [] s=0 -> 0.5 : (s'=1) + 0.5 : (s'=2);
  [] s=1 -> 0.5 : (s'=3) + 0.5 : (s'=4);
  [] s=2 -> 0.5 : (s'=5) + 0.5 : (s'=6);
  [] s=3 -> 0.5 : (s'=1) + 0.5 : (s'=7) & (d'=1);
  [] s=4 -> 0.5 : (s'=7) & (d'=2) + 0.5 : (s'=7) & (d'=3);
  [] s=5 -> 0.5 : (s'=7) & (d'=4) + 0.5 : (s'=7) & (d'=5);
  [] s=6 -> 0.5 : (s'=2) + 0.5 : (s'=7) & (d'=6);
  [] s=7 -> (s'=7);
endmodule
rewards "flips" s<7 : 1; endrewards
label "done" = s=7;
"""


def test_the_die_of_knuth_and_yao() -> None:
    assert ask_value(DIE, "P=? [ F s=7 & d=3 ]") == Fraction(1, 6)
    assert ask_value(DIE, 'R{"flips"}=? [ F "done" ]') == Fraction(11, 3)
    assert ask_value(DIE, "R=? [ C<=2 ]") == 2
    assert ask_value(DIE, "R{1}=? [ I=3 ]") == Fraction(1, 4)
    assert ask_value(DIE, 'P=? [ F<=3 "done" ]') == Fraction(3, 4)
    assert ask_value(DIE, 'P=? [ F=3 "done" ]') == Fraction(3, 4)
    assert ask_value(DIE, "P=? [ s<7 U[1,3] d=1 ]") == Fraction(1, 8)
    assert ask_value(DIE, 'P=? [ G<3 !"done" ]') == 1
    assert ask_value(DIE, "P=? [ X s=1 ]") == Fraction(1, 2)
    assert ask_value(DIE, "P=? [ s!=6 W d=6 ]") == Fraction(3, 4)
    assert count_states(read_text(DIE)) == 13


def chain(body: str, more: str = "") -> str:
    return f"dtmc\n{more}\nmodule m\n x : [0..9] init 0;\n{body}\nendmodule\n"


def reach(body: str, goal: str, more: str = "", **constants: str) -> Fraction | None:
    return ask_value(chain(body, more), f"P=? [ F {goal} ]", constants)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("2+3*2", 8),
        ("(2+3)*2-4", 6),
        ("-2+5", 3),
        ("7-2-3", 2),
        ("floor(7/2)", 3),
        ("ceil(7/2)", 4),
        ("round(2.5)", 3),
        ("round(-0.5)+1", 1),
        ("floor(-0.5)+1", 0),
        ("mod(-1,5)", 4),
        ("mod(7,4)", 3),
        ("pow(2,3)", 8),
        ("ceil(pow(2,0.5))", 2),
        ("floor(log(8,2))", 3),
        ("min(4,2,7)", 2),
        ("max(4,2,7)", 7),
        ("func(min,4,5)", 4),
        ("func(mod,9,5)", 4),
        ("true ? 1 : 2", 1),
        ("false ? 1 : true ? 2 : 3", 2),
        ("1=1 & 2<3 | false ? 4 : 5", 4),
        ("!1=2 ? 4 : 5", 4),
        ("false => false => false ? 4 : 5", 5),  # from left to right
        ("true | true & false ? 4 : 5", 4),
        ("true <=> false => false ? 4 : 5", 4),
        ("!true | true ? 4 : 5", 4),
        ("1+1=2 ? 4 : 5", 4),
        ("1<2 = 2<3 ? 4 : 5", 4),
        ("floor(0.1*30)", 3),  # decimals are exact
        ("floor(1e1-.5)", 9),
    ],
)
def test_expressions(expression: str, value: int) -> None:
    assert (
        reach(f"[] x=0 -> (x'={expression});" if value else f"[] x=0 -> (x'=9-({expression}));", "x!=0") == 1
    )
    shifted = f"[] x=0 -> (x'=({expression})+1);" if value < 9 else f"[] x=0 -> (x'={expression});"
    assert reach(shifted, f"x={value + 1 if value < 9 else value}") == 1


def test_constants_in_any_order_and_from_outside() -> None:
    more = "const double p = q/2; const double q = 1-r; const double r; const int N = 2*M; const M = 3;"
    body = "[] x=0 -> p : (x'=N) + 1-p : (x'=9);"
    assert reach(body, "x=6", more, r="0.2") == Fraction(2, 5)
    assert reach(body, "x=4", more, r="1/5", M="2") == Fraction(2, 5)
    assert reach("[] x=0 -> a : (x'=1) + b : (x'=2);", "x=1", "prob a = 0.25; rate b = 0.75;") == Fraction(
        1, 4
    )


def test_formulas_in_formulas_in_any_order() -> None:
    more = "formula last = next+k; const int k = 1; formula next = x+1;"
    assert reach("[] x=0 -> (x'=last);", "x=2 & next=3", more) == 1


def test_enabled_together_is_equally_likely_in_chains() -> None:
    body = "[] x=0 -> (x'=1); [] x<1 -> 0.5 : (x'=2) + 0.5 : (x'=3); [] x=0 | x=3 -> (x'=4);"
    assert reach(body, "x=1") == Fraction(1, 3)
    assert reach(body, "x=2") == Fraction(1, 6)
    assert reach(body, "x=4") == Fraction(1, 3) + Fraction(1, 6)
    notes = read_text(chain(body)).environment.notes
    assert any("equally likely" in note for note in notes)


def test_interleaved_modules_of_a_chain() -> None:
    text = """dtmc
    module a x : [0..1]; [] x=0 -> (x'=1); endmodule
    module b = a [x=y] endmodule
    module c z : [0..2]; [] z=0 -> 1/4 : (z'=1) + 3/4 : (z'=2); endmodule
    """
    assert ask_value(text, "P=? [ x=0 U y=1 ]") == Fraction(1, 2)
    assert ask_value(text, "P=? [ x=0 & y=0 U z=1 ]") == Fraction(1, 12)


SHARED = """mdp
global g : [0..3] init 0;
module a
  x : [0..2] init 0;
  [go] x=0 -> 1/2 : (x'=1) + 1/2 : (x'=2);
  [] g<3 & x=2 -> (g'=g+1);
endmodule
module b
  y : [0..2] init 0;
  [go] y=0 & x=0 -> 1/3 : (y'=1) + 2/3 : (y'=2);
  [stop] y>0 -> true;
endmodule
rewards "goes" [go] true : 2; x=2 : 1; endrewards
rewards [] g=1 : 5; endrewards
"""


def test_synchronisation_globals_and_rewards() -> None:
    assert ask_value(SHARED, "Pmax=? [ F x=1 & y=1 ]") == Fraction(1, 6)
    assert ask_value(SHARED, "Pmax=? [ F g=3 ]") == Fraction(1, 2)
    assert ask_value(SHARED, "Pmin=? [ F g=3 ]") == 0
    assert ask_value(SHARED, "Rmin=? [ C<=1 ]") == 2
    assert ask_value(SHARED, 'R{"goes"}max=? [ C<=3 ]') == 3
    assert ask_value(SHARED, "R{2}max=? [ C<=3 ]") == Fraction(5, 2)
    assert ask_value(SHARED, "P>=0.5 [ F x=1 ]") == Fraction(1, 2)
    labels = {c.name: [e.action for e in c.edges] for c in read_text(SHARED).environment.components}
    assert labels == {"a": [None, "go", None], "b": ["go", "stop"]}


def test_renaming_renames_variables_actions_constants_and_what_formulas_contain() -> None:
    text = """mdp
    const int low = 1; const int high = 2;
    formula idle = x=0;
    module a x : [0..2]; [one] idle -> (x'=low); endmodule
    module b = a [x=y, one=two, low=high] endmodule
    module c z : [0..1]; [two] z=0 -> (z'=1); endmodule
    """
    model = read_text(text)
    assert count_states(model) == 4
    assert ask_value(text, "Pmax=? [ F y=2 & z=1 ]") == 1
    assert ask_value(text, "Pmax=? [ F y=2 & z=0 ]") == 0
    assert ask_value(text, "Pmax=? [ F y=1 ]") == 0


def test_a_renamed_copy_of_a_copy_and_swapped_names() -> None:
    text = """mdp
    module a x : [0..2]; [] x<1 & y=0 -> (x'=x+1); endmodule
    module b = a [x=y, y=x] endmodule
    module c = b [y=z, x=w] endmodule
    module d w : [0..1]; [] w=0 -> (w'=1); endmodule
    """
    assert ask_value(text, "Pmax=? [ F x=1 & y=1 ]") == 0
    assert ask_value(text, "Pmax=? [ F z=1 & w=1 ]") == 1
    assert ask_value(text, "Pmin=? [ F w=1 ]") == 1
    assert count_states(read_text(text)) == 3 * 4


MEETING = """mdp
module a x : [0..3]; [p] x=0 -> (x'=1); [q] x=1 -> (x'=2); [r] x=2 -> (x'=3); endmodule
module b y : [0..3]; [p] y=0 -> (y'=1); [q] y=1 -> (y'=2); [s] y=2 -> (y'=3); endmodule
"""


@pytest.mark.parametrize(
    ("system", "states"),
    [
        ("", 3 + 3),  # together up to 2, then each alone
        ("a || b", 6),
        ("a ||| b", 16),
        ("a |[p]| b", 1 + 3 * 3),
        ("a |[p,q]| b", 6),
        ("a/{p} || b", 4 + 4),  # a moves to 1 alone; p of b is b's own
        ("a{p<-q,q<-p} || b", 1),
        ("a{r<-s} || b", 4),
        ("(a/{p,q}{r<-t}) || b{q<-t}", 3 * 2 + 2),
        ("a |[p,z]| b", 10),
    ],
)
def test_process_algebra(system: str, states: int) -> None:
    text = MEETING + (f"system {system} endsystem\n" if system else "")
    assert count_states(read_text(text)) == states


def test_several_starts() -> None:
    text = """mdp
    module a x : [0..3]; [] x=1 -> 1/4 : (x'=3) + 3/4 : (x'=0); [] x=2 -> (x'=3); endmodule
    init x>0 & x<3 endinit
    label "low" = x=1;
    """
    assert ask_value(text, 'filter(max, Pmax=? [ F x=3 ], "init")') == 1
    assert ask_value(text, 'filter(min, Pmax=? [ F x=3 ], "init")') == Fraction(1, 4)
    assert ask_value(text, 'filter(avg, Pmax=? [ F x=3 ], "init")') == Fraction(5, 8)
    assert ask_value(text, "filter(sum, Pmax=? [ F x=3 ], x<3)") == Fraction(5, 4)
    assert ask_value(text, "filter(min, Pmax=? [ F x=3 ])") == 0
    assert ask_value(text, 'filter(state, Pmax=? [ F x=3 ], "low")') == Fraction(1, 4)
    assert ask_value(text, "filter(count, P>0.5 [ F x=3 ])") == 2
    assert ask_value(text, 'filter(forall, P>=0.2 [ F x=3 ], "init")') == Fraction(1, 4)
    assert ask_value(text, 'filter(exists, P>=0.9 [ F x=3 ], "init")') == 1
    assert ask_value(text, "Pmax=? [ F x=3 ]") == 1


def test_states_without_commands_go_on_as_they_are() -> None:
    body = "[] x=0 -> 1/2 : (x'=1) + 1/2 : (x'=2); [] x=1 -> true;"
    more = 'rewards "stay" x=2 : 1; endrewards'
    text = chain(body) + more
    assert ask_value(text, 'P=? [ F "deadlock" ]') == Fraction(1, 2)
    assert ask_value(text, "P=? [ G x!=1 ]") == Fraction(1, 2)
    assert ask_value(text, 'R{"stay"}=? [ C<=4 ]') == Fraction(3, 2)
    assert ask_value(text, 'R{"stay"}=? [ F x=1 ]') is None
    assert any("PRISM adds" in note for note in read_text(text).environment.notes)
    assert not read_text(DIE.replace("[] s=7", "[] s>6")).environment.notes


def test_race_of_rates_without_time() -> None:
    text = """ctmc
    const double fast = 3;
    module a x : [0..1]; [] x=0 -> fast : (x'=1); [both] x=1 -> 2 : (x'=0); endmodule
    module b y : [0..2]; [] y=0 -> 1 : (y'=1) + 2 : (y'=2); [both] y=2 -> y : true; endmodule
    """
    assert ask_value(text, "P=? [ x=0 U y=2 ]") == Fraction(1, 3)
    assert ask_value(text, "P=? [ F y=1 ]") == Fraction(1, 3)
    assert ask_value(text, "P=? [ X x=1 ]") == Fraction(1, 2)


def test_markov_automata_without_time() -> None:
    text = """ma
    module a
      x : [0..5];
      <> x=0 -> 1 : (x'=1) + 3 : (x'=2);
      [l] x=1 -> (x'=3);
      [r] x=1 -> 1/2 : (x'=4) + 1/2 : (x'=3);
      <> x=1 -> 100 : (x'=5);
    endmodule
    """
    assert ask_value(text, "Pmax=? [ F x=3 ]") == Fraction(1, 4)
    assert ask_value(text, "Pmin=? [ F x=3 ]") == Fraction(1, 8)
    assert ask_value(text, "Pmax=? [ F x=5 ]") == 0


def test_a_variable_that_leaves_its_range_is_an_error_of_the_model() -> None:
    model = read_text(chain("b : bool; [] x<10 -> (x'=x+1);"))
    found = ask_verdict(model, "P=? [ F b ]")
    assert isinstance(found, Unknown)
    assert "`x` becomes 10, outside its kind" in str(found)


def test_probabilities_that_depend_on_the_state_have_to_add_up() -> None:
    model = read_text(chain("[] x<9 -> x/9 : (x'=x+1) + 1/2 : (x'=9);"))
    found = ask_verdict(model, "P=? [ F x=3 ]")
    assert isinstance(found, Unknown)
    assert "sum to 1/2" in str(found)


def test_old_keywords_and_the_type_that_is_left_out() -> None:
    body = "module m x : [0..1]; [] x=0 -> (x'=1); [] x=0 -> true; endmodule"
    kinds = {
        w: read_text(f"{w}\n{body}").kind for w in ("probabilistic", "nondeterministic", "stochastic", "")
    }
    assert kinds == {"probabilistic": "dtmc", "nondeterministic": "mdp", "stochastic": "ctmc", "": "mdp"}


def test_names_that_surefoot_reserves() -> None:
    text = "mdp module m stalled : bool; at : [0..2]; [] !stalled -> (stalled'=true) & (at'=2); endmodule"
    assert ask_value(text, "Pmax=? [ F stalled & at=2 ]") == 1
    assert ask_value(text, "Pmax=? [ X stalled ]") == 1


def test_all_runs_and_some_run() -> None:
    text = "mdp module m x : [0..2]; [] x=0 -> (x'=1); [] x=0 -> (x'=2); endmodule"
    model = read_text(text)
    told = {
        q: type(ask_verdict(model, q)).__name__
        for q in ("A [ F x>0 ]", "A [ G x<2 ]", "A [ F<=1 x>0 ]", "filter(forall, x<3)", "x=0")
    }
    assert told["A [ G x<2 ]"] == "Violated"
    assert all(word in ("Proved", "Holds") for q, word in told.items() if q != "A [ G x<2 ]"), told
    assert ask_value(text, "E [ F x=2 ]") == 1


INITIAL = """
dtmc
module m
  x : [0..3]; b : bool;
  [] x<3 -> 0.5:(x'=x+1) + 0.5:(b'=!b);
  [] x=3 -> true;
endmodule
init x<=1 & !b endinit
rewards b : 1; x<3 : 0.5; endrewards
"""


def test_conditions_are_counted_and_found() -> None:
    assert ask_value(INITIAL, "filter(count, x=3)") == 2
    assert ask_value(INITIAL, "filter(count, x=3, b)") == 1
    assert ask_value(INITIAL, "filter(count, true)") == 8
    assert ask_value(INITIAL, 'filter(count, x=1, "init")') == 1


def test_rewards_of_an_instant_are_those_of_the_initial_states() -> None:
    assert ask_value(INITIAL, 'filter(max, R=? [ I=1 ], "init")') == 1
    with pytest.raises(Unsupported, match="from other states than the initial ones"):
        ask_value(INITIAL, "filter(max, R=? [ I=1 ], x=3 & b)")


def test_doubles_with_whole_values_may_be_exponents_below_zero() -> None:
    assert reach("[] x=0 -> pow(2,-1.0):(x'=1) + pow(2.0,-1):(x'=2);", "x=1") == Fraction(1, 2)


@pytest.mark.parametrize(
    "question", ["P=? [ F s == 7 and d == 3 ]", "P=? [ F s=7 & d=3 ]", "P=? [ F 2<d<4 ]"]
)
def test_a_chain_needs_no_policy_in_either_syntax(tmp_path: Path, question: str) -> None:
    (tmp_path / "die.prism").write_text(DIE, encoding="utf-8")
    result = sf.check(sf.load(tmp_path / "die.prism", property=question), engine="explicit")
    assert result.low <= Fraction(1, 6) <= result.high
