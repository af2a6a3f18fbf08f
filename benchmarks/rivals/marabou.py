"""Marabou 2.0 with one of its split strategies; whole numbers are relaxed to reals, as it knows no others."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.rivals.program import INFINITE, CannotTake, Coefficients, Program

Point = dict[str, float]


def marabou(program: Program, strategy: str) -> tuple[str, Point]:
    from maraboupy import Marabou, MarabouCore

    if program.products:
        raise CannotTake("Marabou has no products of variables")
    query = MarabouCore.InputQuery()
    query.setNumberOfVariables(len(program.low))
    kinds = MarabouCore.Equation.EquationType

    def compare(terms: Coefficients, value: float, kind: object) -> None:
        equation = MarabouCore.Equation(kind)
        for variable, coefficient in terms.items():
            equation.addAddend(coefficient, variable)
        equation.setScalar(value)
        query.addEquation(equation)

    inputs = set(program.inputs.values())
    # Its own bound tightening finds the bounds of hidden variables; inputs have theirs.
    low = [v if i in inputs else -INFINITE for i, v in enumerate(program.low)]
    high = [v if i in inputs else INFINITE for i, v in enumerate(program.high)]
    for row in program.rows:
        if row.asked and len(row.terms) == 1:
            ((variable, coefficient),) = row.terms.items()
            ends = sorted((row.low / coefficient, row.high / coefficient))
            low[variable], high[variable] = max(low[variable], ends[0]), min(high[variable], ends[1])
        elif row.low == row.high:
            compare(row.terms, row.low, kinds.EQ)
        else:
            if row.low != -INFINITE:
                compare(row.terms, row.low, kinds.GE)
            if row.high != INFINITE:
                compare(row.terms, row.high, kinds.LE)
    for variable, (least, most) in enumerate(zip(low, high, strict=True)):
        if least != -INFINITE:
            query.setLowerBound(variable, least)
        if most != INFINITE:
            query.setUpperBound(variable, most)
    for number, variable in enumerate(program.inputs.values()):
        query.markInputVariable(variable, number)
    for relu in program.relus:
        MarabouCore.addReluConstraint(query, relu.before, relu.after)
    outputs = sorted({v for r in program.rows if r.asked for v in r.terms} - inputs)
    for number, variable in enumerate(outputs):
        query.markOutputVariable(variable, number)
    named = {} if strategy == "default" else {"splittingStrategy": strategy}
    options = Marabou.createOptions(verbosity=0, **named)
    with silence():
        answer, values, _ = MarabouCore.solve(query, options, "")
    if answer not in ("sat", "unsat"):
        return "unknown", {}
    return answer, {name: values[v] for name, v in program.inputs.items()} if answer == "sat" else {}


@contextmanager
def silence() -> Iterator[None]:
    """It prints to the file descriptor itself."""
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)
