"""Edges: guards, destinations and assignments of one instance of an automaton."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from surefoot.formats.jani.constant_folding import fold_constant_parts
from surefoot.formats.jani.expressions import (
    JaniScope,
    check_jani_type,
    jani_term_type,
    read_jani_term,
    read_unfolded_term,
)
from surefoot.formats.jani.instances import AutomatonInstance, ModelInstances
from surefoot.formats.jani.json_document import JsonNode
from surefoot.formats.jani.transient_variables import check_transient
from surefoot.problem.environment import Update
from surefoot.problem.validate.distribution import constant_sum, is_nearly_one, sum_defect
from surefoot.term.printer import show_term
from surefoot.term.term import (
    TRUE,
    Apply,
    Const,
    Op,
    Term,
    Var,
    disjunction_of,
    free_names,
    split_target,
    targets_overlap,
)
from surefoot.term.traverse import substitute_names
from surefoot.term.types import BOOL, REAL


@dataclass(frozen=True, slots=True)
class Destination:
    """`transient`: values of transient variables after the step, as terms over the state before it
    (None: there is no such term).
    """

    probability: Term
    updates: tuple[Update, ...]
    target: str
    transient: Mapping[str, Term | None]
    node: JsonNode


@dataclass(frozen=True, slots=True)
class RawEdge:
    """An edge before its rewards are known."""

    source: str
    action: str | None
    guard: Term
    destinations: tuple[Destination, ...]
    node: JsonNode


AssignmentIndices: TypeAlias = dict[tuple[str, str], set[int]]  # by component and unique name of a variable


def collect_assignments(cast: ModelInstances) -> AssignmentIndices:
    """At which indices each instance assigns which variable."""
    found: AssignmentIndices = {}
    for instance in cast.instances:
        for edge in instance.fields["edges"].entries():
            for assignment in _assignments_of(edge):
                row = assignment.table(("ref", "value"), ("index",))
                name = _unique_name(cast, instance, _root_variable(row["ref"]))
                index = row["index"].integer() if "index" in row else 0
                found.setdefault((instance.component, name), set()).add(index)
    return found


def _assignments_of(edge: JsonNode) -> Iterable[JsonNode]:
    fields = edge.table(("location", "destinations"), ("action", "guard", "rate", "assignments"))
    if "assignments" in fields:
        yield from fields["assignments"].entries()
    for destination in fields["destinations"].entries():
        row = destination.table(("location",), ("probability", "assignments"))
        if "assignments" in row:
            yield from row["assignments"].entries()


def _root_variable(ref: JsonNode) -> JsonNode:
    """The variable of which something is assigned."""
    node = ref
    while not isinstance(node.value, str):
        fields = node.table(("op", "exp", "index"))
        if fields["op"].value != "aa":
            node.fail("this cannot be assigned", "assign a variable or an element of an array")
        node = fields["exp"]
    return node


def _unique_name(cast: ModelInstances, instance: AutomatonInstance, root: JsonNode) -> str:
    name = root.name()
    known = {**cast.names, **instance.names}
    if name not in known:
        root.declared_name(known, "variable")
    return known[name]


@dataclass(frozen=True, slots=True)
class EdgeReader:
    """What is needed to read the edges of one instance."""

    cast: ModelInstances
    instance: AutomatonInstance
    scope: JaniScope
    writes: AssignmentIndices
    actions: Mapping[str, JsonNode]
    deterministic: bool  # a labelled transition system: one destination for each edge
    normalise: bool  # are sums near 1 taken for 1?

    def edges(self) -> list[RawEdge]:
        return [self._edge(node) for node in self.instance.fields["edges"].entries()]

    def _edge(self, node: JsonNode) -> RawEdge:
        fields = node.table(("location", "destinations"), ("action", "guard", "rate", "assignments"))
        if "rate" in fields:
            fields["rate"].refuse("`rate` needs a model in continuous time", "only discrete models are read")
        source = self.instance.locations[
            fields["location"].declared_name(self.instance.locations, "location")
        ]
        action = fields["action"].declared_name(self.actions, "action") if "action" in fields else None
        guard: Term = TRUE
        if "guard" in fields:
            condition = read_jani_term(fields["guard"].table(("exp",))["exp"], self.scope, BOOL)
            guard = self.instance.fix_location(condition, source)
        common = fields["assignments"].entries() if "assignments" in fields else []
        entries = fields["destinations"].entries()
        if not entries:
            fields["destinations"].fail("an edge has no destination", "add one, or drop the edge")
        found = [self._destination(entry, common, source) for entry in entries]
        if self.deterministic and len(found) > 1:
            fields["destinations"].fail("a labelled transition system has no probabilities", "use type mdp")
        self._check_sum(fields["destinations"], [d.probability for d in found])
        kept = [d for d in found if d.probability != Const(0)]
        if len(kept) < len(found):
            self.scope.notes.add("destinations of probability 0 are left out")
        return RawEdge(source, action, guard, tuple(kept), node)

    def _check_sum(self, node: JsonNode, probabilities: list[Term]) -> None:
        total = constant_sum(probabilities)
        if total is not None and is_nearly_one(total) and self.normalise:
            return  # divided by it when all edges are read
        if (defect := sum_defect(probabilities)) is not None:
            node.fail(*defect)

    def _destination(self, node: JsonNode, common: list[JsonNode], source: str) -> Destination:
        fields = node.table(("location",), ("probability", "assignments"))
        target = self.instance.locations[
            fields["location"].declared_name(self.instance.locations, "location")
        ]
        probability: Term = Const(1)
        if "probability" in fields:
            place = fields["probability"].table(("exp",))["exp"]
            probability = self.instance.fix_location(read_jani_term(place, self.scope, REAL), source)
            if isinstance(probability, Const) and not 0 <= probability.value <= 1:
                place.fail(f"probability {show_term(probability)} is not between 0 and 1")
        own = fields["assignments"].entries() if "assignments" in fields else []
        rows: dict[int, list[JsonNode]] = {}
        for assignment in [*common, *own]:
            row = assignment.table(("ref", "value"), ("index",))
            rows.setdefault(row["index"].integer() if "index" in row else 0, []).append(assignment)
        updates, transient = self._read_assignments(rows, source)
        return Destination(probability, tuple(updates), target, transient, node)

    def _read_assignments(
        self, rows: Mapping[int, list[JsonNode]], source: str
    ) -> tuple[list[Update], dict[str, Term | None]]:
        """Assignments in the order of their indices; those to transient variables are kept apart."""
        updates: list[Update] = []
        assigned: dict[str, tuple[int, Term]] = {}
        written: dict[str, set[int]] = {}
        for index in sorted(rows):
            scope = self._scope_at_index(index, assigned, written)
            latest: dict[str, tuple[int, Term]] = {}
            for node in rows[index]:
                row = node.table(("ref", "value"), ("index",))
                root = _root_variable(row["ref"])
                name = _unique_name(self.cast, self.instance, root)
                declared = self.instance.variables.get(root.value) or self.cast.variables[root.value]
                value = self.instance.fix_location(read_jani_term(row["value"], scope), source)
                if declared.transient:
                    if not isinstance(row["ref"].value, str):
                        row["ref"].refuse("an assignment to a part of a transient array")
                    check_jani_type(row["value"], value, scope, declared.kind)
                    check_transient(row["value"], root.value, value, declared.kind, scope.notes)
                    if name in latest:
                        row["ref"].fail(f"`{root.value}` is assigned twice at once", "keep one of them")
                    latest[name] = index, value
                    continue
                target = self.instance.fix_location(self._target(row["ref"], scope), source)
                check_jani_type(row["value"], value, scope, jani_term_type(row["ref"], target, scope))
                if any(u.index == index and targets_overlap(u.target, target) for u in updates):
                    row["ref"].fail(f"`{show_term(target)}` is assigned twice at once", "keep one of them")
                updates.append(Update(target, value, index))
                written.setdefault(name, set()).add(index)
            assigned.update(latest)
        final = {
            name: self._value_before_step(index, value, updates) for name, (index, value) in assigned.items()
        }
        return updates, final

    def _target(self, ref: JsonNode, scope: JaniScope) -> Term:
        if isinstance(ref.value, str):
            return Var(_unique_name(self.cast, self.instance, ref))
        fields = ref.table(("op", "exp", "index"))
        return Apply(
            Op.SELECT,
            (
                self._target(fields["exp"], scope),
                fold_constant_parts(read_unfolded_term(fields["index"], scope)),
            ),
        )

    def _scope_at_index(
        self, index: int, assigned: Mapping[str, tuple[int, Term]], written: Mapping[str, set[int]]
    ) -> JaniScope:
        """The scope of assignments with this index: transient variables have what was assigned before."""
        values: dict[str, Term] = {}
        hidden: dict[str, str] = {}
        for raw, name in {**self.cast.names, **self.instance.names}.items():
            overtaken = name in self.cast.transients and any(i < index for i in self._foreign_indices(name))
            if name in assigned and not overtaken:
                since, term = assigned[name]
                changed = [v for v in free_names(term) if self._is_written(v, since, index, written)]
                values[raw] = term
                if changed:
                    hidden[raw] = f"`{raw}` is read after `{changed[0]}`, on which it depends, has changed"
            elif overtaken:
                hidden[raw] = f"`{raw}` is transient and assigned by another automaton in the same step"
        if not values and not hidden:
            return self.scope
        kept = {n: t for n, t in {**self.scope.values, **values}.items() if n not in hidden}
        return replace(self.scope, values=kept, hidden={**self.scope.hidden, **hidden})

    def _foreign_indices(self, name: str) -> Iterable[int]:
        """The indices at which other components assign the variable."""
        for (other, written), indices in self.writes.items():
            if written == name and other != self.instance.component:
                yield from indices

    def _is_written(self, name: str, since: int, until: int, written: Mapping[str, set[int]]) -> bool:
        return any(since <= i < until for i in (*written.get(name, ()), *self._foreign_indices(name)))

    def _value_before_step(self, index: int, value: Term, updates: list[Update]) -> Term | None:
        """The value as a term over the state before the step.

        What the same destination has assigned before takes the place of the variables. There is no such
        term if an element of an array, or another automaton, may have been in between.
        """
        earlier: dict[str, Term] = {}
        for name in free_names(value):
            if any(i < index for i in self._foreign_indices(name)):
                return None
            mine = [u for u in updates if u.index < index and name == split_target(u.target)[0]]
            if not mine:
                continue
            last = max(mine, key=lambda u: u.index)
            before = (
                self._value_before_step(last.index, last.value, updates)
                if isinstance(last.target, Var)
                else None
            )
            if before is None:
                return None
            earlier[name] = before
        return fold_constant_parts(substitute_names(value, earlier)) if earlier else value


def input_enabled_edges(instance: AutomatonInstance, edges: list[RawEdge]) -> list[RawEdge]:
    """`input-enable`: where no edge with the action is enabled, the automaton stays as it is."""
    found: list[RawEdge] = []
    for action in instance.enabled:
        for location in instance.locations.values():
            guards = tuple(e.guard for e in edges if e.action == action and e.source == location)
            guard = fold_constant_parts(~disjunction_of(guards)) if guards else TRUE
            stay = Destination(Const(1), (), location, {}, instance.node)
            found.append(RawEdge(location, action, guard, (stay,), instance.node))
    return found
