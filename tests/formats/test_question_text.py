"""Questions in PRISM's property syntax about models of other formats."""

import pytest

import surefoot as sf
from surefoot.errors import SurefootError
from surefoot.formats.question_text import own_question_scope, parse_question_text
from surefoot.problem.environment import Component, Edge, Environment, Outcome, Update, Variable
from surefoot.problem.property import Expected, Never, Probability, Property
from surefoot.problem.property_parser import parse_property
from surefoot.term.term import Const, Term, Var, equal
from surefoot.term.value_types import Bool, Int

X = Var("x")
STEP = Edge(
    "here", "go", X < 3, outcomes=(Outcome(updates=(Update(X, X + 1),), rewards=(("cost", Const(2)),)),)
)
WALK = Environment(
    "walk",
    (Variable("x", Int(0, 3)), Variable("on", Bool())),
    equal(X, 0) & ~Var("on"),
    (Component("c", (STEP,)),),
    definitions=(("goal", equal(X, 3)),),
)


def ask(text: str, *, chain: bool = False) -> Property:
    names: dict[str, Term] = dict(WALK.definitions)
    found = parse_question_text(
        text,
        names=[v.name for v in WALK.variables],
        constants=names,
        prism=own_question_scope(WALK, names, chain=chain),
    )
    return found.asked


@pytest.mark.parametrize(
    ("prism", "own"),
    [
        ('Pmax=? [ F "goal" ]', "Pmax=? [ F goal ]"),
        ('Pmin=? [ !on U<=4 x=3 & "init" ]', "Pmin=? [ not on U<=4 x = 3 and x = 0 and not on ]"),
        ('R{"cost"}max=? [ F "goal" ]', "Emax=? [ cost until goal ]"),
        ('R{"cost"}min=? [ C<=4 ]', "Emin=? [ cost for 4 steps ]"),
        ('P>=0.5 [ F "goal" ]', "Pmin>=0.5 [ F goal ]"),
        ("A [ G x<3 ]", "never not (x < 3)"),
        ('filter(min, Pmax=? [ F "goal" ], x>1)', "Pmax=? [ F goal ] over min of x > 1"),
        ("never goal", "never goal"),
        ("Emax=? [ cost until x = 3 ]", "Emax=? [ cost until x = 3 ]"),
    ],
)
def test_both_syntaxes_say_the_same(prism: str, own: str) -> None:
    wanted = parse_property(own, names=["x", "on"], constants=dict(WALK.definitions))
    assert _shape(ask(prism)) == _shape(wanted)


def _shape(asked: Property) -> object:
    """Conditions by what they mean in each state, everything else as it is."""
    from surefoot.term.evaluate import evaluate_term

    def table(term: Term) -> tuple[bool, ...]:
        return tuple(evaluate_term(term, {"x": x, "on": on}) for x in range(4) for on in (False, True))

    match asked:
        case Never(bad, steps):
            return "never", table(bad), steps
        case Probability(path, threshold, optimise, over, starts):
            sides = (path.operator, table(path.left), table(path.right), path.bounds)
            return sides, threshold, optimise, over, None if starts is None else table(starts)
        case Expected(reward, until, threshold, optimise, over, _, steps):
            return reward, table(until), threshold, optimise, over, steps
    raise AssertionError(asked)


def test_chains_have_one_value() -> None:
    asked = ask('P=? [ F "goal" ]', chain=True)
    assert isinstance(asked, Probability)
    assert asked.optimise == "max"


@pytest.mark.parametrize(
    "text", ['Pmax=? [ F "gaol" ]', "R=? [ F x=3 ]", 'R{"cost"}=? [ I=2 ]', "S=? [ on ]", ""]
)
def test_refusals(text: str) -> None:
    with pytest.raises(SurefootError) as caught:
        sf.check(WALK, None, text)
    assert str(caught.value).startswith("property")
