"""Z3 in exact arithmetic, with neurons of known sign resolved beforehand."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from benchmarks.rivals.program import INFINITE, Program

Point = dict[str, float]


def z3(program: Program) -> tuple[str, Point]:
    import z3 as engine

    def exact(value: float) -> Any:
        number = Fraction(value)
        return engine.RealVal(f"{number.numerator}/{number.denominator}")

    solver = engine.SolverFor("QF_LIRA") if any(program.whole) else engine.Solver()
    if not any(program.whole) and not program.products:
        solver = engine.SolverFor("QF_LRA")
    columns, terms_of = [], []
    inputs = set(program.inputs.values())
    for number, (low, high, whole) in enumerate(zip(program.low, program.high, program.whole, strict=True)):
        column = engine.Int(f"v{number}") if whole else engine.Real(f"v{number}")
        columns.append(column)
        terms_of.append(engine.ToReal(column) if whole else column)
        if number in inputs and low != -INFINITE:
            solver.add(column >= (int(low) if whole else exact(low)))
        if number in inputs and high != INFINITE:
            solver.add(column <= (int(high) if whole else exact(high)))
    for row in program.rows:
        body = engine.Sum([exact(c) * terms_of[v] for v, c in row.terms.items()])
        if row.low == row.high:
            solver.add(body == exact(row.low))
            continue
        if row.low != -INFINITE:
            solver.add(body >= exact(row.low))
        if row.high != INFINITE:
            solver.add(body < exact(row.high) if row.strict else body <= exact(row.high))
    for relu in program.relus:
        before, after = columns[relu.before], columns[relu.after]
        solver.add(engine.Or(engine.And(before >= 0, after == before), engine.And(before <= 0, after == 0)))
        solver.add(after >= 0, after >= before)
    for left, right, result in program.products:
        solver.add(columns[left] * columns[right] == columns[result])
    answer = str(solver.check())
    if answer != "sat":
        return answer, {}
    model = solver.model()
    return answer, {name: value_of(model.eval(columns[v], True)) for name, v in program.inputs.items()}


def value_of(value: Any) -> float:
    if hasattr(value, "as_long") and value.is_int():
        return float(value.as_long())
    if hasattr(value, "as_fraction"):
        return float(value.as_fraction())
    return float(value.approx(20).as_fraction())
