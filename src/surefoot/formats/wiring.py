"""How a network is wired to a model: what it observes, what its outputs stand for, how it chooses.

The wiring of `policy.onnx` stands beside it in `policy.wiring.toml`, in the table `[policy]` of a problem
file, or in the options of a command.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from surefoot.errors import InvalidProblem, did_you_mean, locate_errors
from surefoot.formats.normalization import (
    NOT_NORMALISED,
    Normalization,
    prepend_normalization,
    read_normalization,
)
from surefoot.formats.output_nodes import append_output_terms
from surefoot.formats.toml_document import TomlEntry, read_toml_document
from surefoot.formats.untrusted.regular_file import NO_SUCH_FILE
from surefoot.problem.network import Network
from surefoot.problem.policy import Actions, Choose, EdgesOf, NeuralPolicy
from surefoot.problem.window import Window, interleave_windows
from surefoot.term.parser import TermReader
from surefoot.term.term import Const, Term, Var
from surefoot.term.traverse import substitute_names

KEYS = ("observe", "actions", "edges_of", "order", "choose", "normalize", "output", "controls")
LAYERS = "layers"  # how the weights of a file are connected: read where the weights are
MEMORY = "memory"  # which output becomes which input: read where the graph is
FILE_KEYS = (LAYERS, MEMORY)  # what is said of the file itself
_EDGES_OF = re.compile(r"\s*edges_of\s*\(\s*([^()]+?)\s*\)\s*\Z")
_INTERLEAVE = re.compile(r"\s*interleave\s*\(([^()]*)\)\s*\Z")


@dataclass(frozen=True, slots=True)
class PolicyWiring:
    """Observed terms in order, actions in order, the way of choosing, statistics for normalisation, the name
    of the output that decides (None: the file has only one), and controls as terms over the outputs (empty:
    the outputs themselves).
    """

    observe: tuple[Term, ...]
    actions: Actions = ()
    choose: Choose = Choose.ARGMAX
    normalize: Normalization | None = None
    output: str | None = None
    controls: tuple[Term, ...] = ()


@dataclass(frozen=True, slots=True)
class WiringChanges:
    """What replaces parts of a wiring that stands in a file; what is empty stays as it is."""

    actions: Actions = ()
    choose: Choose | None = None
    normalize: Normalization | None = None


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What the model declares, as far as it is known: names, constants and windows."""

    names: tuple[str, ...] | None = None
    constants: Mapping[str, Const] = field(default_factory=dict)
    windows: tuple[Window, ...] = ()


def wiring_path(network: Path) -> Path:
    """Where the wiring of a network is looked for."""
    return network.with_suffix(".wiring.toml")


def read_wiring(path: str | Path, vocabulary: Vocabulary | None = None) -> PolicyWiring:
    """The wiring in a TOML file; with a vocabulary, the names in it are checked at once."""
    place = Path(path)
    with locate_errors(str(path), InvalidProblem):
        fields = read_toml_document(place).table(*KEYS, *FILE_KEYS)
        table = {key: entry for key, entry in fields.items() if key not in FILE_KEYS}
        return wiring_from_table(table, place.parent, vocabulary or Vocabulary())


def wires_nothing(path: Path) -> bool:
    """Is the file beside a network about what is in it alone, and not about what is observed?"""
    with locate_errors(str(path), InvalidProblem):
        return set(read_toml_document(path).table(*KEYS, *FILE_KEYS)) <= set(FILE_KEYS)


def memory_beside(network: Path) -> dict[str, str] | None:
    """Which output of a network becomes which of its inputs, if the file beside it says so."""
    path = wiring_path(network)
    if not path.is_file():
        return None
    with locate_errors(str(path), InvalidProblem):
        fields = read_toml_document(path).table(*KEYS, *FILE_KEYS)
        if MEMORY not in fields:
            return None
        return {name: entry.string() for name, entry in fields[MEMORY].table().items()}


def wiring_from_table(entries: Mapping[str, TomlEntry], folder: Path, vocabulary: Vocabulary) -> PolicyWiring:
    """The wiring that the keys of a table describe; file names are relative to `folder`."""
    if "observe" not in entries:
        raise InvalidProblem("`observe` is missing", fix='list the observed terms: observe = ["x", "y"]')
    observe = tuple(t for e in entries["observe"].entries() for t in _observed_terms(e, vocabulary))
    actions = _read_actions(entries)
    choose = Choose.ARGMAX if actions != () else Choose.VALUE
    if "choose" in entries:
        choose = entries["choose"].inside(_parse_choose)
    statistics = _read_statistics(entries["normalize"], folder) if "normalize" in entries else None
    output = entries["output"].string() if "output" in entries else None
    controls = _read_controls(entries["controls"], choose, vocabulary) if "controls" in entries else ()
    return PolicyWiring(observe, actions, choose, statistics, output, controls)


def _read_controls(entry: TomlEntry, choose: Choose, vocabulary: Vocabulary) -> tuple[Term, ...]:
    if choose is not Choose.VALUE:
        entry.fail("`controls` beside actions", 'leave `actions` out, or use `choose = "value"`')
    return tuple(own.term(None, vocabulary.constants) for own in entry.entries())


def wiring_from_options(
    observe: str, actions: str = "", choose: str = "", vocabulary: Vocabulary | None = None
) -> PolicyWiring:
    """The wiring that command-line texts describe: `x, y - 1`, `left,right`, `argmax`."""
    known = vocabulary or Vocabulary()
    changes = wiring_changes_from_options(actions, choose)
    way = changes.choose or (Choose.ARGMAX if changes.actions else Choose.VALUE)
    with locate_errors("--observe"):
        reader = TermReader(observe, names=known.names, constants=known.constants)
        terms = [reader.term()]
        while reader.takes(","):
            terms.append(reader.term())
        reader.finish("`,`", fix="write commas between the terms")
    return PolicyWiring(resolve_observations(tuple(terms), known), changes.actions, way)


def wiring_changes_from_options(actions: str = "", choose: str = "") -> WiringChanges:
    """The parts of a wiring that command-line texts replace: `left,right` or `edges_of(car)`, `argmax`."""
    meant: Actions = tuple(a.strip() for a in actions.split(",")) if actions.strip() else ()
    if found := _EDGES_OF.match(actions):
        meant = EdgesOf(found[1])
    with locate_errors("--choose"):
        return WiringChanges(meant, _parse_choose(choose) if choose else None)


def change_wiring(wiring: PolicyWiring, changes: WiringChanges) -> PolicyWiring:
    """The wiring with these changes; naming actions means choosing among them, setting values needs none."""
    choose = changes.choose or wiring.choose
    if changes.actions and changes.choose is None and choose is Choose.VALUE:
        choose = Choose.ARGMAX
    actions = changes.actions or (() if changes.choose is Choose.VALUE else wiring.actions)
    return replace(wiring, actions=actions, choose=choose, normalize=changes.normalize or wiring.normalize)


def resolve_observations(terms: tuple[Term, ...], vocabulary: Vocabulary) -> tuple[Term, ...]:
    """Terms that were read before the model was known: constants replaced, windows as all their values."""
    windows: dict[Term, tuple[Term, ...]] = {Var(w.name): w.terms for w in vocabulary.windows}
    return tuple(
        substitute_names(t, vocabulary.constants) for term in terms for t in windows.get(term, (term,))
    )


def wire_network(network: Network, wiring: PolicyWiring, notes: Iterable[str] = ()) -> NeuralPolicy:
    """The network as a policy; statistics become nodes in front of it, terms over its outputs nodes after it.

    `notes` are those of its file.
    """
    told = tuple(notes)
    if wiring.normalize is not None:
        network = prepend_normalization(network, wiring.normalize)
        told = (*(n for n in told if n != NOT_NORMALISED), network.notes[-1])
    if wiring.controls:
        network = append_output_terms(network, wiring.controls)
    return NeuralPolicy(network, wiring.observe, wiring.actions, wiring.choose, told)


def _parse_choose(text: str) -> Choose:
    known = {c.value: c for c in Choose}
    if text not in known:
        raise InvalidProblem(f"unknown way to choose `{text}`", fix=did_you_mean(text, known))
    return known[text]


def _observed_terms(entry: TomlEntry, vocabulary: Vocabulary) -> tuple[Term, ...]:
    """One term, or all values of a window (oldest first), or several windows time-major."""
    windows = {w.name: w for w in vocabulary.windows}
    if isinstance(entry.value, str):
        if entry.value in windows:
            return windows[entry.value].terms
        if found := _INTERLEAVE.match(entry.value):
            return _interleave_windows([n.strip() for n in found[1].split(",")], windows, entry)
    return (entry.term(vocabulary.names, vocabulary.constants),)


def _interleave_windows(
    names: list[str], windows: Mapping[str, Window], entry: TomlEntry
) -> tuple[Term, ...]:
    for name in names:
        if name not in windows:
            entry.fail(f"unknown window `{name}`", did_you_mean(name, windows))
    if len({windows[n].length for n in names}) > 1:
        entry.fail("the windows have different lengths", "list them one by one")
    return interleave_windows(*(windows[n] for n in names))


def _read_actions(entries: Mapping[str, TomlEntry]) -> Actions:
    if "edges_of" not in entries:
        if "order" in entries:
            entries["order"].fail("`order` needs `edges_of`", "name the component")
        return entries["actions"].strings() if "actions" in entries else ()
    if "actions" in entries:
        entries["actions"].fail("both `actions` and `edges_of`", "keep one of them")
    order = tuple(e.integer() for e in entries["order"].entries()) if "order" in entries else ()
    return EdgesOf(entries["edges_of"].string(), order)


def _read_statistics(entry: TomlEntry, folder: Path) -> Normalization:
    if isinstance(entry.value, str):
        if not os.path.exists(folder / entry.value):
            entry.fail(NO_SUCH_FILE, "check the path, which is relative to this file")
        return read_normalization(folder / entry.value)
    fields = entry.table("mean", "variance", "epsilon", "clip")
    for name in ("mean", "variance"):
        if name not in fields:
            entry.fail(f"`normalize` has no `{name}`", "give mean and variance of every observation")
    mean, variance = (
        np.array([_read_float(e) for e in fields[n].entries()], dtype=np.float64)
        for n in ("mean", "variance")
    )
    epsilon = _read_float(fields["epsilon"]) if "epsilon" in fields else 1e-8
    clip = _read_float(fields["clip"]) if "clip" in fields else 10.0
    try:
        return Normalization(mean, variance, epsilon, clip, "the statistics of the wiring")
    except InvalidProblem as error:
        raise error.at(entry.place()) from None


def _read_float(entry: TomlEntry) -> float:
    try:
        return float(entry.number())
    except OverflowError:
        entry.fail("the number is too large for a float")
