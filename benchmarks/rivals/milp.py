"""ReLUs by big-M rows with the bounds that come with the question: HiGHS, SCIP and Gurobi.

A ReLU whose value can only harm the comparisons it occurs in (larger is worse) needs no binary: polarity.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.rivals.program import INFINITE, CannotTake, Coefficients, Program

Point = dict[str, float]
Answer = tuple[str, Point]


def rows_of(program: Program) -> list[tuple[Coefficients, float, float]]:
    """All rows, those of ReLUs included; adds binaries to the program."""
    rows = [(r.terms, r.low, r.high) for r in program.rows]
    one_sided = harmful(program)
    for relu in program.relus:
        rows.append(({relu.after: 1.0, relu.before: -1.0}, 0.0, INFINITE))
        if relu.after in one_sided:
            continue
        active = program.variable(0.0, 1.0, True)
        # after <= before - low (1 - active), after <= high active
        rows.append(({relu.after: 1.0, relu.before: -1.0, active: -relu.low}, -INFINITE, -relu.low))
        rows.append(({relu.after: 1.0, active: -relu.high}, -INFINITE, 0.0))
    return rows


def harmful(program: Program) -> set[int]:
    """ReLU values that occur only where a larger one makes a comparison harder to satisfy."""
    signs: dict[int, set[int]] = {}
    defined: dict[int, Coefficients] = {}
    last = {v for r in program.rows if r.asked for v in r.terms}
    for row in program.rows:
        outputs = [v for v in row.terms if v in last]
        if not row.asked and len(outputs) == 1 and row.terms[outputs[0]] == -1.0:
            defined[outputs[0]] = {v: c for v, c in row.terms.items() if v != outputs[0]}
    used = {r.before for r in program.relus} | {v for p in program.products for v in p}
    for row in program.rows:
        if row.asked:
            directions = {1} if row.low == -INFINITE else {-1} if row.high == INFINITE else {1, -1}
            for output, factor in row.terms.items():
                for variable, c in {output: 1.0, **defined.get(output, {})}.items():
                    signs.setdefault(variable, set()).update(d * int(np.sign(c * factor)) for d in directions)
        elif not (set(defined) & set(row.terms)):
            for variable in row.terms:
                signs.setdefault(variable, set()).update((1, -1))
    return {r.after for r in program.relus if signs.get(r.after) == {1} and r.after not in used}


def highs(program: Program) -> Answer:
    import highspy

    if program.products:
        raise CannotTake("HiGHS has no products of variables")
    rows = rows_of(program)
    solver, lp = highspy.Highs(), highspy.HighsLp()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("threads", 1)
    lp.num_col_, lp.num_row_ = len(program.low), len(rows)
    lp.col_cost_ = np.zeros(len(program.low))
    lp.col_lower_, lp.col_upper_ = np.array(program.low), np.array(program.high)
    lp.row_lower_, lp.row_upper_ = np.array([r[1] for r in rows]), np.array([r[2] for r in rows])
    starts = np.cumsum([0] + [len(r[0]) for r in rows])
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = starts
    lp.a_matrix_.index_ = np.array([v for r in rows for v in r[0]])
    lp.a_matrix_.value_ = np.array([c for r in rows for c in r[0].values()], float)
    kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
    lp.integrality_ = [kinds[w] for w in program.whole]
    solver.passModel(lp)
    solver.run()
    status = solver.getModelStatus()
    if status == highspy.HighsModelStatus.kInfeasible:
        return "unsat", {}
    if status != highspy.HighsModelStatus.kOptimal:
        return "unknown", {}
    values = solver.getSolution().col_value
    return "sat", {name: values[v] for name, v in program.inputs.items()}


def scip(program: Program) -> Answer:
    import pyscipopt

    rows = rows_of(program)
    model = pyscipopt.Model()
    model.hideOutput()
    columns = [
        model.addVar(lb=end(low), ub=end(high), vtype="I" if whole else "C")
        for low, high, whole in zip(program.low, program.high, program.whole, strict=True)
    ]
    for terms, low, high in rows:
        body = pyscipopt.quicksum(c * columns[v] for v, c in terms.items())
        if low == high:
            model.addCons(body == low)
            continue
        if low != -INFINITE:
            model.addCons(body >= low)
        if high != INFINITE:
            model.addCons(body <= high)
    for left, right, result in program.products:
        model.addCons(columns[left] * columns[right] - columns[result] == 0)
    model.optimize()
    answer = {"infeasible": "unsat", "optimal": "sat"}.get(model.getStatus(), "unknown")
    if answer != "sat":
        return answer, {}
    return answer, {name: model.getVal(columns[v]) for name, v in program.inputs.items()}


def gurobi(program: Program) -> Answer:
    import gurobipy

    rows = rows_of(program)
    if max(len(rows), len(program.low)) > 2000 or len(program.products) > 200:
        raise CannotTake("larger than the free licence allows")
    environment = gurobipy.Env(empty=True)
    environment.setParam("OutputFlag", 0)
    environment.start()
    model = gurobipy.Model(env=environment)
    model.Params.Threads = 1
    columns = [
        model.addVar(lb=low, ub=high, vtype="I" if whole else "C")
        for low, high, whole in zip(program.low, program.high, program.whole, strict=True)
    ]
    for terms, low, high in rows:
        body = gurobipy.LinExpr(list(terms.values()), [columns[v] for v in terms])
        if low == high:
            model.addConstr(body == low)
            continue
        if low != -INFINITE:
            model.addConstr(body >= low)
        if high != INFINITE:
            model.addConstr(body <= high)
    for left, right, result in program.products:
        model.addConstr(columns[left] * columns[right] == columns[result])
    model.optimize()
    answer = {2: "sat", 3: "unsat", 4: "unsat"}.get(model.Status, "unknown")
    return answer, {name: columns[v].X for name, v in program.inputs.items()} if answer == "sat" else {}


def end(value: float) -> Any:
    return None if abs(value) == INFINITE else value
