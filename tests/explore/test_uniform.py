"""The uniform random policy."""

from fractions import Fraction
from random import Random

from tests.explore.random_environments import problem

from surefoot.explore.exploration import explore_problem
from surefoot.explore.uniform_policy import resolve_uniformly
from surefoot.term.evaluate import Undefined


def test_every_choice_is_equally_likely() -> None:
    compared = 0
    for seed in range(20):
        asked = problem(Random(seed), policies=False)
        try:
            before = explore_problem(asked, labels={}, rewards=("cost",))
        except Undefined:
            continue
        after = resolve_uniformly(before)
        old, new = before.markov, after.markov
        assert new.is_chain
        assert new.rewards["cost"].tolist() == old.rewards["cost"].tolist()
        for s in range(old.states):
            expected = []
            count = int(old.choices[s + 1] - old.choices[s])
            for c in range(old.choices[s], old.choices[s + 1]):
                outcomes = slice(old.outcomes[c], old.outcomes[c + 1])
                shares = [old.values[w] / count for w in old.weights[outcomes]]
                expected += list(zip(shares, old.targets[outcomes].tolist(), strict=True))
            found = []
            for c in range(new.choices[s], new.choices[s + 1]):
                outcomes = slice(new.outcomes[c], new.outcomes[c + 1])
                shares = [new.values[w] for w in new.weights[outcomes]]
                found += list(zip(shares, new.targets[outcomes].tolist(), strict=True))
                assert sum(shares, Fraction(0)) == 1
                assert len(after.transitions[after.transition[c]]) == count
            assert found == expected
            compared += 1
    assert compared > 40
