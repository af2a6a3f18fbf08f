"""Reading a claim (docs/certificates.md, section 2): the query that is said to have no solution."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from ...kernel.network import FlatNetwork, read_network
from ...kernel.onnx_file import onnx_to_flat_network, output_names
from ...kernel.query import ClaimedQuery, ClaimedVariable, FlatNetworkCall, Formula, Linear
from ...kernel.strict_json import (
    BadCertificate,
    expect_integer,
    expect_list,
    expect_number,
    expect_object,
    expect_text,
)
from ...kernel.untrusted_file import quote_for_message, read_file_bytes
from ...kernel.vnnlib_file import read_vnnlib_claim

NESTING = 100  # of formulas
LONG = 400  # characters of a path in a message
_QUERY = frozenset({"kind", "variables", "networks", "calls", "formula"})
_VNNLIB = frozenset({"kind", "network", "property", "inputs"})
_FILE = frozenset({"file", "sha256"})
_OUTPUT = frozenset({"output"})


@dataclass(frozen=True, slots=True)
class FileLocations:
    """Where files are looked for: first where the caller says, then where the certificate does."""

    folder: Path
    network: Path | None = None
    property: Path | None = None


def read_query_claim(data: object, places: FileLocations) -> ClaimedQuery:
    kind = data.get("kind") if isinstance(data, dict) else None
    if kind == "vnnlib":
        return _query_from_files(expect_object(data, _VNNLIB, "claim", _OUTPUT), places)
    if kind == "query":
        return _query_from_claim(expect_object(data, _QUERY, "claim"), places)
    raise BadCertificate("claim: its `kind` is neither `vnnlib` nor `query`")


def _query_from_files(claim: dict[str, object], places: FileLocations) -> ClaimedQuery:
    of_network = expect_object(claim["network"], _FILE, "network")
    of_property = expect_object(claim["property"], _FILE, "property")
    place, model = _locate_file(of_network, places, places.network, "network")
    output = None if claim.get("output") is None else expect_text(claim["output"], "output")
    network = onnx_to_flat_network(model, output)
    path, raw = _locate_file(of_property, places, places.property, "property")
    specification = read_vnnlib_claim(raw)
    widths = network.widths()
    if (specification.inputs, specification.outputs) != (widths[0], widths[-1]):
        raise BadCertificate(
            f"the property is about {specification.inputs} inputs and {specification.outputs} outputs, "
            f"the network has {widths[0]} and {widths[-1]}"
        )
    kind = expect_text(claim["inputs"], "inputs")
    if kind not in ("float32", "real"):
        raise BadCertificate("claim: its `inputs` are neither `float32` nor `real`")
    inputs = tuple(ClaimedVariable(f"X_{i}", None, None, kind) for i in range(widths[0]))
    outputs = tuple(ClaimedVariable(f"Y_{i}", None, None, "real") for i in range(widths[-1]))
    call = FlatNetworkCall(
        network, tuple({v.name: Fraction(1)} for v in inputs), tuple(v.name for v in outputs)
    )
    tensor = "" if output is None else f", its tensor {quote_for_message(output)},"
    origin = (
        f"{quote_for_message(str(place), LONG)}{tensor} and {quote_for_message(str(path), LONG)}, "
        f"inputs {kind}"
    )
    return ClaimedQuery(
        (*inputs, *outputs), (call,), specification.formula, origin, _uncertified_output(model, output)
    )


def _uncertified_output(model: bytes, output: str | None) -> tuple[str, ...]:
    """A property of something inside a network says nothing about what the network computes."""
    if output is None or output_names(model) == (output,):
        return ()
    if output in output_names(model):
        return (
            f"which of the outputs of the network is meant: the certificate says {quote_for_message(output)}",
        )
    return (f"anything about the output of the network: {quote_for_message(output)} is a tensor inside it",)


def _locate_file(
    entry: dict[str, object], places: FileLocations, given: Path | None, what: str
) -> tuple[Path, bytes]:
    """A file with the digest that the certificate says; the digest only shows that it is the one meant."""
    name, digest = Path(expect_text(entry["file"], what)), expect_text(entry["sha256"], what)
    if "\0" in str(name):
        raise BadCertificate(f"{what}: no such file name")
    candidates = [given] if given else [name, places.folder / name, places.folder / name.name]
    there = [c for c in candidates if c.is_file()] or candidates[:1]
    for path in there:  # another file may have the same name
        raw = read_file_bytes(path)
        if hashlib.sha256(raw).hexdigest() == digest.lower():
            return path, raw
    raise BadCertificate(f"{what}: {there[0]} is not the file of the certificate: its digest differs")


def _query_from_claim(claim: dict[str, object], places: FileLocations) -> ClaimedQuery:
    if places.property is not None:
        raise BadCertificate("the claim is not about a property file: its query is written out")
    variables = tuple(_read_variable(v) for v in expect_list(claim["variables"], "variables"))
    names = {v.name for v in variables}
    if len(names) < len(variables):
        raise BadCertificate("two variables have the same name")
    networks = [read_network_entry(n, places)[0] for n in expect_list(claim["networks"], "networks")]
    calls = []
    outputs: set[str] = set()
    for entry in expect_list(claim["calls"], "calls"):
        parts = expect_list(entry, "call", 3, "a call is a list of network, inputs and outputs")
        network = networks[expect_integer(parts[0], 0, len(networks) - 1, "network of a call")]
        inputs = tuple(
            _read_linear_form(form, names, "input of a call") for form in expect_list(parts[1], "inputs")
        )
        results = tuple(expect_text(name, "output of a call") for name in expect_list(parts[2], "outputs"))
        if not names.issuperset(results) or outputs.intersection(results) or len(set(results)) < len(results):
            raise BadCertificate("an output of a call is no variable, or an output twice")
        outputs.update(results)
        calls.append(FlatNetworkCall(network, inputs, results))
    whole = read_claimed_formula(claim["formula"], names, NESTING)
    missing = ("where the query comes from: it is written out in the certificate",)
    return ClaimedQuery(variables, tuple(calls), whole, "the query in the certificate", missing)


def _read_variable(data: object) -> ClaimedVariable:
    parts = expect_list(data, "variable")
    if len(parts) != 4 or parts[3] not in ("real", "float32", "integer"):
        raise BadCertificate("a variable is a list of name, low, high and kind")
    name = expect_text(parts[0], "name of a variable")
    if not name:
        raise BadCertificate("a variable has an empty name")
    low, high = (None if end is None else expect_number(end, f"bound of `{name}`") for end in parts[1:3])
    return ClaimedVariable(name, low, high, parts[3])


def read_network_entry(data: object, places: FileLocations) -> tuple[FlatNetwork, tuple[str, ...]]:
    """A network from a file or written out, and what is not certified about it."""
    if isinstance(data, dict) and "file" in data:
        entry = expect_object(data, _FILE, "network", _OUTPUT)
        name = None if entry.get("output") is None else expect_text(entry["output"], "output")
        _, model = _locate_file(entry, places, places.network, "network")
        return onnx_to_flat_network(model, name), _uncertified_output(model, name)
    return read_network(data), ("which network is deployed: its weights are in the certificate",)


def _read_linear_form(data: object, names: set[str], what: str) -> Linear:
    """An object from names to coefficients; the constant has the empty name."""
    if type(data) is not dict or not all(name == "" or name in names for name in data):
        raise BadCertificate(f"{what}: not a linear form over the variables")
    found = {name: expect_number(c, what) for name, c in data.items()}
    return {name: c for name, c in found.items() if c}


def read_claimed_formula(data: object, names: set[str], nesting: int) -> Formula:
    parts = expect_list(data, "formula")
    kind = parts[0] if parts else None
    if kind in ("<=", "<", "=") and len(parts) == 2:
        return (kind, _read_linear_form(parts[1], names, "formula"))
    if kind in ("and", "or") and nesting:
        return (kind, *(read_claimed_formula(part, names, nesting - 1) for part in parts[1:]))
    raise BadCertificate("formula: neither a comparison nor `and` nor `or`, or nested too deeply")
