"""The program that Marabou is given, solved by substitution: it has the outputs of the network."""

from fractions import Fraction
from random import Random

import pytest
from tests.query.test_network_constraints import NETWORKS

from surefoot.network.exact import exact_outputs
from surefoot.query.query import NetworkCall, Query, QueryVariable
from surefoot.solvers.marabou import MarabouProgram, encode_marabou
from surefoot.term.term import Var
from surefoot.term.value_types import Real


def solve_by_substitution(program: MarabouProgram, known: dict[int, float]) -> dict[int, float]:
    """Every row and every ReLU with one unknown says what it is, until nothing is unknown."""
    values = dict(known)
    while len(values) < len(program.low):
        before = len(values)
        for terms, _, right in program.rows:
            unknown = [v for v in terms if v not in values]
            if len(unknown) == 1:
                rest = sum(c * values[v] for v, c in terms.items() if v in values)
                values[unknown[0]] = (right - rest) / terms[unknown[0]]
        values.update({after: max(0.0, values[x]) for x, after in program.relus if x in values})
        assert len(values) > before
    return values


@pytest.mark.parametrize("name", NETWORKS)
def test_the_program_computes_the_network(name: str) -> None:
    network, random = NETWORKS[name], Random(name)
    outputs = tuple(f"y{i}" for i in range(network.outputs))
    quantities = tuple(QueryVariable(n, Real()) for n in ("a", "b", *outputs))
    query = Query(quantities, (), (NetworkCall(network, (Var("a"), Var("b")), outputs),))
    for _ in range(10):
        point = [Fraction(random.randint(-12, 12), 8) for _ in range(2)]
        program = encode_marabou(query, ())
        start = {program.names["a"]: float(point[0]), program.names["b"]: float(point[1])}
        values = solve_by_substitution(program, start)
        found = [values[program.names[n]] for n in outputs]
        assert found == pytest.approx([float(y) for y in exact_outputs(network, point)])
