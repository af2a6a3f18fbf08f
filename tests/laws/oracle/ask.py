"""Random questions about a model."""

from dataclasses import replace
from fractions import Fraction
from random import Random

from tests.laws.oracle.graph import all_labels
from tests.laws.oracle.meaning import Meaning
from tests.laws.oracle.model import Model
from tests.laws.oracle.questions import AboutChance, AboutRuns, Question
from tests.laws.oracle.random_terms import Scope, truth_term, whole_term
from tests.laws.oracle.terms import Term

THRESHOLDS = [Fraction(0), Fraction(1), Fraction(1, 2), Fraction(1, 4), Fraction(1, 3), Fraction(9, 10)]


def scope_of(model: Model) -> Scope:
    scope = Scope(linear="linear" in model.features, risky="risky" in model.features)
    for name, kind in Meaning(model).kinds.items():
        scope.add(name, kind)
    if not model.jani:
        for component in model.components:
            scope.truth += [("at", component.name, x) for x in component.locations[1:]]
    return scope


def special_conditions(model: Model) -> list[Term]:
    found: list[Term] = [("var", "deadlocked")]
    policy = model.policy
    if policy is not None and policy.choose != "value":
        found += [("var", "stalled")] * 2
        if policy.edges_of is None:
            owned = all_labels(Meaning(model)) if policy.actions is None else set(policy.actions)
            found += [("chosen", label) for label in sorted(owned)[:1]]
    if policy is not None and policy.layers and policy.choose != "sample":
        found.append((">=", ("output", 0), 1))
    return found


def random_condition(r: Random, model: Model, scope: Scope) -> Term:
    x = r.random()
    if x < 0.12 and not model.jani:
        term = r.choice(special_conditions(model))
        return term if r.random() < 0.6 else (r.choice(["and", "or"]), term, truth_term(r, scope, 0))
    if x < 0.45 and scope.whole:
        return (r.choice(["=", "=", ">=", "<="]), r.choice(scope.whole), r.randint(-1, 4))
    return truth_term(r, scope, 1)


def about_runs(r: Random, model: Model, scope: Scope) -> AboutRuns:
    condition = random_condition(r, model, scope)
    kind = r.choice(["never", "never", "always", "within", "eventually", "recurs"])
    if kind in ("never", "always"):
        steps = None if r.random() < 0.65 else r.choice([0, 1, 2, 3, 5])
        return AboutRuns(kind, condition, steps)
    if kind == "within":
        steps = r.choice([0, 1, 2, 3, 5])
        return AboutRuns(kind, condition, steps, r.choice([0, 0, 0, min(1, steps), min(2, steps)]))
    return AboutRuns(kind, condition)


def about_chance(r: Random, model: Model, scope: Scope) -> AboutChance:
    optimise = r.choice(["min", "max"]) if model.policy is None else r.choice(["", "", "", "min", "max"])
    question = AboutChance(optimise=optimise, right=random_condition(r, model, scope))
    if r.random() < 0.3:
        question = about_reward(r, question, scope)
    else:
        operator = r.choice(["F", "F", "F", "G", "U", "U", "X", "W", "R"])
        left = random_condition(r, model, scope) if operator in "UWR" else True
        low, high = 0, None
        if operator != "X" and r.random() < 0.4:
            high = r.choice([0, 1, 2, 3, 5, 8])
            if operator in "FGU" and r.random() < 0.4:
                low = r.choice([1, 2])
                high = r.choice([None, low + 1, low + 3])
        if operator == "X":
            low, high = 1, 1
        question = replace(question, operator=operator, left=left, low=low, high=high)
        if (low, high) != (0, None) and operator in "FU" and (low == 0 or high is None) and r.random() < 0.25:
            question = replace(
                question, spent=("jani", ("var", "cost"), ("steps",)) if model.jani else "gold"
            )
        if r.random() < 0.25:
            question = replace(question, compare=(r.choice([">=", "<=", "<", ">"]), r.choice(THRESHOLDS)))
    x = r.random()
    if x < 0.25:
        over = (
            ["min", "max", "avg", "sum", "values", "argmin", "argmax"]
            if question.compare is None
            else ["min", "max", "count"]
        )
        question = replace(question, over=r.choice(over))
    if x < 0.06 and not model.jani:
        question = replace(question, of=truth_term(r, scope, 0))
    return question


def about_reward(r: Random, question: AboutChance, scope: Scope) -> AboutChance:
    reward: Term = r.choice(["steps", "gold", ("of", ("abs", whole_term(r, scope, 1)))])
    high = None if r.random() < 0.6 else r.choice([1, 2, 5])
    if high is not None and r.random() < 0.6:
        question = replace(question, right=None)
    return replace(question, reward=reward, high=high)


def random_questions(seed: int, model: Model, count: int) -> list[Question]:
    r = Random(f"questions {seed}")
    scope = scope_of(model)
    found: list[Question] = []
    for _ in range(count):
        asked = about_runs(r, model, scope) if r.random() < 0.6 else about_chance(r, model, scope)
        gold = any(o.rewards for c in model.components for e in c.edges for o in e.outcomes)
        if isinstance(asked, AboutChance) and not gold:
            asked = replace(asked, reward="steps" if asked.reward == "gold" else asked.reward, spent=None)
        if isinstance(asked, AboutChance) and asked.spent is not None:
            asked = replace(asked, of=None)
        found.append(asked)
    return found
