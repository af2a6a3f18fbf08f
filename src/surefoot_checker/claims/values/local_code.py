"""One function for all states of one place: decode, ask the guards, follow the edges, compare the bounds.

Everything that a state does and everything that is asked of it becomes one loop, a Python syntax tree that
is made of integers, names that are counted here, and terms as `term` writes them; no object per state or
step is made. What does not fit (choices of values, probabilities that vary, updates one after the other) is
done by `general`, the slow way, state by state.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from .local_rules import NONE, LocalRule, refuse_state
from .packed_states import Digit, PackedLayout
from .transitions import JointTransitions, ModelStep

Function = Callable[..., Any]
_PARAMETERS = ("parts", "one", "L", "H", "K", "T", "row_of", "general", "ask", "pick", "pay")
MOST_OUTCOMES = 64  # of a step that is written out
NO_CHOICE = "no choice leads to a lower rank while it keeps its bound"


@dataclass(frozen=True, slots=True, eq=False)
class PlaceCode:
    """What is known of one combination of locations."""

    moves: JointTransitions
    layout: PackedLayout
    rule: LocalRule
    fixed: dict[int, int]  # slots of locations, with their values
    guards: list[ast.expr]
    steps: list[tuple[tuple[int, ...], ModelStep, Fraction | None]]  # with what is paid; None: it varies
    left: ast.expr | None  # None: asked by `ask`
    right: ast.expr | None
    picks: bool  # a policy decides
    names: dict[ModelStep, str | None]  # its action; None: the environment's own
    worth: bool  # what a state pays is asked of `pay`
    lookup: bool  # in a dictionary


def compile_place(place: PlaceCode) -> Function:
    """The function that goes through states (number, low, high, rank) and counts choices."""
    writer = _Writer(place)
    body = writer.loop()
    tree = ast.parse(f"def check({', '.join(_PARAMETERS)}):\n    pass")
    definition = tree.body[0]
    assert isinstance(definition, ast.FunctionDef)
    definition.body = body
    return place.moves.model.code.define(tree)


class _Placeholders(ast.NodeTransformer):
    """Terms in the place of names, and local names in the place of entries of a row."""

    def __init__(self, nodes: dict[str, ast.expr]) -> None:
        self.nodes = nodes

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.nodes.get(node.id, node)


class _Entries(ast.NodeTransformer):
    """`row[3]` becomes `v3`; what is read is noted."""

    def __init__(self, fixed: dict[int, int]) -> None:
        self.fixed = fixed
        self.read: set[int] = set()

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        inner = node.value
        if isinstance(inner, ast.Name) and inner.id == "row" and isinstance(node.slice, ast.Constant):
            slot = node.slice.value
            assert type(slot) is int
            if slot in self.fixed:
                return ast.Constant(self.fixed[slot])
            self.read.add(slot)
            return ast.Name(f"v{slot}", ast.Load())
        return self.generic_visit(node)  # type: ignore[return-value]


class _Writer:
    def __init__(self, place: PlaceCode) -> None:
        self.place, self.code = place, place.moves.model.code
        self.entries = _Entries(place.fixed)
        self.row = False  # is the whole row needed?

    def local(self, node: ast.expr) -> ast.expr:
        """A term over local names; the tree that was given stays as it is."""
        found: ast.expr = self.entries.visit(_copy_tree(node))
        return found

    def say(self, text: str, **nodes: ast.expr) -> list[ast.stmt]:
        body = ast.parse(text).body
        return [_Placeholders(nodes).visit(statement) for statement in body]

    def refuse(self, why: str) -> ast.expr:
        return self.code.call(refuse_state, [ast.Constant(why)])

    def loop(self) -> list[ast.stmt]:
        """`total`: choices; `most`: of a state."""
        inner = [*self._decided(), *self._choices(), *self._conclusion()]
        decoded = self._decode()
        loop = self.say("for p, lo, hi, rk in parts:\n    pass")
        assert isinstance(loop[0], ast.For)
        loop[0].body = [*decoded, *inner]
        return [*self.say("total = most = 0"), *loop, *self.say("return total, most")]

    def _decode(self) -> list[ast.stmt]:
        layout, found = self.place.layout, list[ast.stmt]()
        slots = range(len(layout.digits)) if self.row else sorted(self.entries.read)
        for slot in slots:
            if slot in self.place.fixed:
                continue
            text = ", ".join(_digit_text(d, layout.size) for d in layout.digits[slot])
            array = layout.kinds[slot][0] == "array"
            if array and layout.kinds[slot][2][0] == "array":
                found += self.say(f"v{slot} = row_of(p)[{slot}]")
            else:
                tuple_text = f"({text},)" if text else "()"
                found += self.say(f"v{slot} = {tuple_text if array else text}")
        if self.row:
            whole = ", ".join(str(self.place.fixed.get(s, f"v{s}")) for s in range(len(layout.digits)))
            found += self.say(f"row = ({whole},)")
        return found

    def _decided(self) -> list[ast.stmt]:
        rule = self.place.rule
        goal = "lo or hi or rk" if rule.reward else "lo != one or hi != one or rk"
        found = self._when(self.place.right, "right", f"if {goal}:\n        bad\n    continue",
                           self.refuse("the goal has another value, or a rank that is not 0"))  # fmt: skip
        if rule.reward:
            return found
        lost = self._when(self.place.left, "left", "", ast.Constant(0), lost=True)
        return [*found, *lost]

    def _when(
        self, condition: ast.expr | None, name: str, then: str, bad: ast.expr, *, lost: bool = False
    ) -> list[ast.stmt]:
        if isinstance(condition, ast.Constant):
            if (condition.value is True and lost) or (condition.value is False and not lost):
                return []
            test: ast.expr = condition
        elif condition is None:
            self.row = True
            test = ast.parse(f"ask('{name}', row)", mode="eval").body
        else:
            test = self.local(condition)
        if lost:
            told = self.refuse("a run that is lost has a value above 0, or a rank")
            return self.say(
                f"if not test:\n    if lo or hi or rk != {NONE}:\n        bad\n    continue",
                test=test,
                bad=told,
            )
        return self.say(f"if test:\n    {then}", test=test, bad=bad)

    def _choices(self) -> list[ast.stmt]:
        place, found = self.place, self.say("n = led = kept = stuck = 0")
        for number, guard in enumerate(place.guards):
            found += self.say(f"g{number} = term", term=self.local(guard))
        if place.picks:
            found += self._picked_action()
        if place.worth:
            self.row = True
            found += self.say("paid = pay(row)")
        for needs, step, reward in place.steps:
            tests = [f"g{g}" for g in needs]
            name = place.names.get(step)
            if place.picks and name is not None:
                tests.append(f"picked == a{sorted(self._actions()).index(name)}")
            body = self._step(step, reward)
            if tests:
                when = self.say(f"if {' and '.join(tests)}:\n    pass", **self._action_nodes())
                assert isinstance(when[0], ast.If)
                when[0].body = body
                found += when
            else:
                found += body
        return found

    def _actions(self) -> set[str]:
        return {name for name in self.place.names.values() if name is not None}

    def _action_nodes(self) -> dict[str, ast.expr]:
        names = sorted(self._actions()) if self.place.picks else []
        return {f"a{i}": self.code.store_value(name) for i, name in enumerate(names)}

    def _picked_action(self) -> list[ast.stmt]:
        """Ask the policy once for the state, with what is enabled."""
        self.row = True
        found = self.say("own = set()", set=self.code.store_value(set))
        for needs, step, _ in self.place.steps:
            name = self.place.names.get(step)
            if name is None:
                continue
            add = f"own.add(a{sorted(self._actions()).index(name)})"
            test = " and ".join(f"g{g}" for g in needs)
            found += self.say(f"if {test}:\n    {add}" if test else add, **self._action_nodes())
        return [*found, *self.say("picked = pick(row, own)")]

    def _step(self, step: ModelStep, reward: Fraction | None) -> list[ast.stmt]:
        written = None if reward is None else self._written_entries(step)
        if written is None:
            self.row = True
            return self._general(step)
        assert step.weights is not None
        found = self.say("n += 1")
        for number, entries in enumerate(written):
            found += self._target(entries, number)
        names = [f"j{number}" for number in range(len(written))]
        found += self._compare(step.unit, list(zip(step.weights, names, strict=True)), reward)
        return found

    def _written_entries(self, step: ModelStep) -> list[dict[int, ast.expr]] | None:
        """Of every outcome; None: the step is not of a kind that is written out."""
        if not step.simple or len(step.endings) > MOST_OUTCOMES:
            return None
        layout, found = self.place.layout, list[dict[int, ast.expr]]()
        for ending in step.endings:
            entries = self.place.moves.written_entries(step, ending)
            if entries is None or any(layout.kinds[slot][0] == "array" for slot in entries):
                return None
            found.append(entries)
        return found

    def _target(self, entries: dict[int, ast.expr], number: int) -> list[ast.stmt]:
        moved, found = 0, list[ast.stmt]()
        text, nodes = "p", dict[str, ast.expr]()
        for slot, node in sorted(entries.items()):
            (digit,) = self.place.layout.digits[slot]
            fixed = self.place.fixed.get(slot)
            if fixed is not None and isinstance(node, ast.Constant) and type(node.value) is int:
                moved += (node.value - fixed) * digit.worth
                continue
            if fixed is None:
                self.entries.read.add(slot)
            if fixed is None and (shift := _constant_shift(node, slot)) is not None:
                found += self._limit(slot, digit, *shift)
                moved += shift[0] * digit.worth
                continue
            name = f"e{len(nodes)}"
            nodes[name] = self.local(node)
            text += f" + ({name} - {f'v{slot}' if fixed is None else fixed}) * {digit.worth}"
        if moved:
            text += f" + {moved}" if moved > 0 else f" - {-moved}"
        look = f"T({text}, -1)" if self.place.lookup else f"T[{text}]"
        found += self.say(f"j{number} = {look}", **nodes)
        return [*found, *self._look_inside(number)]

    def _limit(self, slot: int, digit: Digit, step: int, check: ast.expr) -> list[ast.stmt]:
        """A variable that would leave its range is refused, in the words of the check that stands there."""
        if not step:
            return []
        beyond = f"> {digit.low + digit.count - 1 - step}" if step > 0 else f"< {digit.low - step}"
        return self.say(f"if v{slot} {beyond}:\n    bad", bad=self.local(check))

    def _look_inside(self, number: int) -> list[ast.stmt]:
        told = self.refuse("a state that can be reached is not among those of the certificate")
        return self.say(f"if j{number} < 0:\n    bad", bad=told)

    def _compare(
        self, unit: int, parts: Sequence[tuple[int, str]], reward: Fraction | None
    ) -> list[ast.stmt]:
        """What the choice says of both bounds and of the rank."""
        rule = self.place.rule
        single = len(parts) == 1
        more, factor = "", 1
        if self.place.worth:
            more, factor = "paid", 1
        elif reward:
            factor, amount = reward.denominator, reward.numerator * unit
            more = f"{amount} * one"

        def side(values: str) -> tuple[str, str]:
            own = "lo" if values == "L" else "hi"
            if single and not more:
                return f"{values}[{parts[0][1]}]", own
            total = " + ".join(f"{w * factor} * {values}[{name}]" for w, name in parts)
            if self.place.worth:
                return f"({total}) * paid[1] + {unit} * paid[0] * one", f"{unit} * {own} * paid[1]"
            return total + (f" + {more}" if more else ""), f"{unit * factor} * {own}"

        lower = " or ".join(f"K[{name}] < rk" for _, name in parts)
        (rise, low), (fall, high) = side("L"), side("H")
        rises, falls = f"{rise} >= {low}", f"{fall} <= {high}"
        must, may = (f"{fall} > {high}", rises) if rule.greatest else (f"{rise} < {low}", falls)
        which = "above" if rule.greatest else "below"
        found = self.say(f"if {must}:\n    bad", bad=self.refuse(f"a choice breaks the bound {which}"))
        if rule.by_some:
            found += self.say(f"if not led and {may}:\n    kept = 1\n    if {lower}:\n        led = 1")
        else:
            found += self.say(f"if not kept and {may}:\n    kept = 1")
            told = self.refuse("a choice along which the rank does not fall")
            found += self.say(f"if rk != {NONE} and not ({lower}):\n    bad", bad=told)
        return found

    def _general(self, step: ModelStep) -> list[ast.stmt]:
        """Choices one by one; the rule is asked by what is given as `general`."""
        found = self.say(
            "more, some, other = general(step, row, lo, hi, rk)\n"
            "n += more\nkept = kept or some\nled = led or other\nstuck = stuck or not more",
            step=self.code.store_value(step),
        )
        return found

    def _conclusion(self) -> list[ast.stmt]:
        rule = self.place.rule
        if rule.reward:
            ended, told = "True", "a run ends that has missed the goal, where a reward is infinite"
        else:
            ended = f"lo or hi or rk != {NONE}"
            told = "a run that is lost has a value above 0, or a rank"
        found = self.say(
            f"if not n:\n    if stuck:\n        other\n    if {ended}:\n        bad\n    continue",
            bad=self.refuse(told),
            other=self.refuse("an assumption that nothing satisfies, and no other way on"),
        )
        found += self.say("if lo > hi:\n    bad", bad=self.refuse("the bounds are not low <= high"))
        wanted = "True" if rule.everywhere else "lo"
        found += self.say(
            f"if rk == {NONE} and {wanted}:\n    bad",
            bad=self.refuse("the bound below is not led to the goal by any ranking"),
        )
        unkept = "not kept and lo" if rule.greatest and not rule.reward else "not kept"
        which = "below" if rule.greatest else "above"
        found += self.say(f"if {unkept}:\n    bad", bad=self.refuse(f"no choice keeps the bound {which}"))
        if rule.by_some:
            found += self.say(f"if rk != {NONE} and not led:\n    bad", bad=self.refuse(NO_CHOICE))
        return [*found, *self.say("total += n\nif n > most:\n    most = n")]


def _copy_tree(node: Any) -> Any:
    """A deep copy of a syntax tree."""
    if isinstance(node, ast.AST):
        return type(node)(*(_copy_tree(getattr(node, name)) for name in node._fields))
    return [_copy_tree(one) for one in node] if isinstance(node, list) else node


def _digit_text(digit: Digit, size: int) -> str:
    text = "p" if digit.worth == 1 else f"p // {digit.worth}"
    if digit.worth * digit.count < size:
        text += f" % {digit.count}"
    if digit.truth:
        return f"{text} == 1"
    return text if not digit.low else f"{text} + {digit.low}" if digit.low > 0 else f"{text} - {-digit.low}"


def _constant_shift(node: ast.expr, slot: int) -> tuple[int, ast.expr] | None:
    """Of `v + c`, checked to lie in its range: c, and the check as it stands there."""
    match node:
        case ast.IfExp(ast.Compare(_, _, [ast.NamedExpr(_, ast.BinOp(left, op, ast.Constant(c))), _]), _, _):
            pass
        case _:
            return None
    match left:
        case ast.Subscript(ast.Name("row"), ast.Constant(found)) if found == slot and type(c) is int:
            if isinstance(op, ast.Add):
                return c, node
            return (-c, node) if isinstance(op, ast.Sub) else None
        case _:
            return None
