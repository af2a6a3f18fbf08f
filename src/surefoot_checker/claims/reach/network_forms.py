"""Networks on affine forms: symbols of the state go through them, and each activation that is not linear over
its range adds one (zonotopes with a slope and a band for every activation).

Chains of affine nodes and activations with a layer of `WIDE` neurons or more are followed by columns
(wide_networks.py), one set of inputs after the other. All others are followed here.

Several sets of inputs (parts, of one shape) go through side by side. The forms of a neuron are lists, one for
each part: centre and coefficients. For a matrix those of all parts are the fields of one vector
(bounds/packed_vectors.py), so that one multiplication of a large integer by a weight does all of them. A
field is 64 * `words` bits wide, twice as much as what is ever in it needs; that is checked before every
product. Where fields are divided by a power of two each is rounded down, so less than a unit is lost for
each: the radius gets one for every field. What is new in an activation (`fresh`, one symbol for each neuron)
has a diagonal matrix and is not packed: its coefficients behind the next matrix are one product each.

Units inside of a network are as small as fields of one word allow, 2^-28 at best: that is less than what
float32 loses. Where values are too large for that, fields have more words and the units of the whole claim
(by columns: the same units in more words).

Arithmetic is that of section 4: with u = 2^-24, g(n) = n u / (1 - n u), t = 2^-126, which is less than a
unit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import chain, compress, repeat
from operator import mul, rshift

from ...bounds.packed_vectors import (
    divide_fields,
    pack_fields,
    pack_small_fields,
    unpack_fields,
    unpack_small_fields,
)
from ...kernel.network import (
    ActivationNode,
    AffineNode,
    CombineNode,
    ElementwiseNode,
    FlatNetwork,
    Node,
    PickNode,
    flat_node_sources,
)
from ...kernel.strict_json import Refused
from ...kernel.trees import TreesNode
from .activation_lines import SLOPE, activation_line, line_size
from .affine_form import Form, FormArithmetic, form_size
from .input_parts import split_inputs
from .network_outputs import SHARE, InputBasis, NetworkOutputs, PartOutputs, round_input
from .weighted_rows import LARGEST_FLOAT, Scale, WeightedRows, prepare_rows
from .wide_networks import WideNetwork, is_chain

NARROW = (28, 25, 22)  # bits behind the point that are tried with fields of one word
MOST_FIELDS = 20_000
WIDE = 12  # neurons of the widest layer from which chains are followed by columns
MOST_TOGETHER = 4096  # neurons of a layer in all parts that are followed together


class _TooLarge(Refused):
    """For the fields: wider ones may do."""


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """By neuron, then by part: centre and coefficients, a radius, and perhaps a fresh symbol.

    The fresh symbols are numbered from `first` on and in no other layer, but those computed from this one: in
    each part those that it has, one after the other.
    """

    entries: list[list[list[int]]]
    radii: list[list[int]]
    sizes: list[list[int]]  # bounds of magnitudes of computed values
    largest: int  # of all that is in an entry and its fresh coefficient, added up
    fields: int
    fresh: list[list[int]] | None
    first: int

    def fresh_places(self, part: int) -> list[tuple[int, int]]:
        """The neurons that have a fresh symbol in a part, and its coefficient."""
        if self.fresh is None:
            return []
        return [(i, new[part]) for i, new in enumerate(self.fresh) if new[part]]

    def settle(self) -> Layer:
        """With the fresh symbols among the others."""
        if self.fresh is None:
            return self
        parts = len(self.entries[0]) if self.entries else 0
        several = [self.fresh_places(part) for part in range(parts)]
        more = max(map(len, several), default=0)
        lift = [0] * (self.first - self.fields + more)
        entries = [[[*values, *lift] for values in entry] for entry in self.entries]
        for part, places in enumerate(several):
            for number, (i, new) in enumerate(places, start=self.first):
                entries[i][part][number] = new
        fields = self.first + more
        return Layer(entries, self.radii, self.sizes, self.largest, fields, None, fields)


class NetworkOnForms:
    """A network made ready for forms with so many bits behind the point."""

    def __init__(self, network: FlatNetwork, bits: int) -> None:
        self.network, self.bits = network, bits
        wide = Scale(bits, 40, 2 if bits <= 56 else 3)
        self.scales = [*(Scale(b, 24, 1) for b in NARROW if b <= bits), wide]
        self.finest = False
        self._matrices: dict[int, dict[int, WeightedRows]] = {}
        widest = max(network.widths())
        self.together = max(MOST_TOGETHER // widest, 1)
        followed = is_chain(network) and min(network.widths()) > 0
        followed = followed and widest >= WIDE and sum(network.widths()) <= MOST_FIELDS
        self.wide = WideNetwork(network, bits) if followed else None

    def run(self, inputs: Sequence[Form], halvings: int = 0) -> NetworkOutputs:
        """`inputs`: what is observed, before it is rounded to float32; cut into 2^halvings parts."""
        parts = split_inputs(inputs, self._input_weights(len(inputs)), halvings)
        found: list[PartOutputs] = []
        for first in range(0, len(parts.inputs), self.together):
            found += self._run_together(parts.inputs[first : first + self.together])
        return NetworkOutputs(found, parts)

    def _input_weights(self, count: int) -> list[int]:
        """How much each input matters: the sum of the magnitudes of its weights in the first matrix."""
        for place, node in enumerate(self.network.nodes):
            if isinstance(node, AffineNode):
                if node.columns == count:
                    return list(map(sum, zip(*self.weighted_rows(place, self.scales[-1]).sizes, strict=True)))
                break
        return [1] * count

    def weighted_rows(self, place: int, scale: Scale) -> WeightedRows:
        known = self._matrices.setdefault(scale.weight, {})
        if place not in known:
            node = self.network.nodes[place]
            assert isinstance(node, AffineNode)
            known[place] = prepare_rows(node, scale.weight)
        return known[place]

    def _run_together(self, several: Sequence[Sequence[Form]]) -> list[PartOutputs]:
        """Of a scale that was too coarse once the next one is tried from then on."""
        if self.wide is not None:
            return [self._run_wide(self.wide, inputs) for inputs in several]
        while len(self.scales) > 1 and not self.finest:
            try:
                return FormsRun(self, several, self.scales[0]).outputs()
            except _TooLarge:
                self.scales = self.scales[1:]
        return FormsRun(self, several, self.scales[-1]).outputs()

    def _run_wide(self, wide: WideNetwork, inputs: Sequence[Form]) -> PartOutputs:
        scale = self.scales[-1 if self.finest else 0]
        matrices = [
            self.weighted_rows(place, scale) if isinstance(node, AffineNode) else None
            for place, node in enumerate(self.network.nodes)
        ]
        return wide.run(inputs, scale, matrices)


class FormsRun:
    """Parts side by side, in one scale."""

    def __init__(self, prepared: NetworkOnForms, several: Sequence[Sequence[Form]], scale: Scale) -> None:
        self.prepared, self.scale = prepared, scale
        self.bits, self.words = scale.bits, scale.words
        self.limit = int(LARGEST_FLOAT * (1 << scale.bits))
        self.parts = len(several)
        less = prepared.bits - scale.bits
        self.inputs = [[round_input(x, less) for x in inputs] for inputs in several]
        self.count = len(several[0][0][1]) if several[0] else 0
        self.bases: list[InputBasis] | None = None
        if len(several[0]) < self.count:
            self.bases = [InputBasis(inputs, max(self.words, 2)) for inputs in self.inputs]

    def outputs(self) -> list[PartOutputs]:
        network = self.prepared.network
        layers = [self._start()]
        self._check_sizes(layers[0])
        known = layers[0].fields  # in use
        for place, node in enumerate(network.nodes):
            match node:
                case AffineNode(source):
                    found = self._affine(layers[source], self.prepared.weighted_rows(place, self.scale))
                case ActivationNode(source, kind, parameters):
                    exact = [Fraction(p) for p in parameters]
                    found = self._activate(layers[source], kind, exact, known)
                    known += max((len(found.fresh_places(p)) for p in range(self.parts)), default=0)
                case _:
                    found = self._by_forms(layers, node)
            self._check_sizes(found)
            if known > MOST_FIELDS:
                raise Refused("a network with more symbols than are followed")
            layers.append(found)
        last, less = layers[-1], self.prepared.bits - self.bits
        last = last.settle()
        return [
            PartOutputs(
                [entry[part] for entry in last.entries],
                [radii[part] for radii in last.radii],
                self.count,
                None if self.bases is None else self.bases[part],
                less,
            )
            for part in range(self.parts)
        ]

    def _start(self) -> Layer:
        if self.bases is None:
            return self._collect(self.inputs, self.count + 1)
        several = []
        for inputs, basis in zip(self.inputs, self.bases, strict=True):
            rows = [[w if i == j else 0 for j in range(basis.count)] for i, w in enumerate(basis.widths)]
            several.append([(x[0], row, 0) for x, row in zip(inputs, rows, strict=True)])
        return self._collect(several, len(self.inputs[0]) + 1)

    def _check_sizes(self, layer: Layer) -> None:
        """No overflow in float32, nor of what is multiplied in the basis, nor of a field."""
        if max(map(max, layer.sizes), default=0) > self.limit:
            raise Refused("a float32 evaluation of a network may overflow")
        room = 64 * self.words - 3
        if self.bases is not None:
            room = min(room, 64 * max(self.words, 2) - 3 - SHARE)
        if layer.largest.bit_length() > room:
            raise _TooLarge("values inside a network are too large for the number of bits")

    def _collect(self, several: Sequence[Sequence[Form]], fields: int) -> Layer:
        """Forms by part as a layer."""
        by_neuron = list(zip(*several, strict=True))
        sizes = [[form_size(x) for x in forms] for forms in by_neuron]
        return Layer(
            [[[c, *a] for c, a, _ in forms] for forms in by_neuron],
            [[r for _, _, r in forms] for forms in by_neuron],
            sizes,
            max(map(max, sizes), default=0),
            fields,
            None,
            fields,
        )

    def _affine(self, layer: Layer, matrix: WeightedRows) -> Layer:
        parts, words, places = self.parts, self.words, self.scale.weight
        count, old = len(layer.entries), layer.fields
        used = list(map(any, layer.sizes))  # the others are exactly 0
        fresh = [layer.fresh_places(part) for part in range(parts)]
        more = max(map(len, fresh))
        fields = layer.first + more if more else old
        gaps = [[0] * (fields - old - len(new)) for new in fresh]
        fresh_places, fresh_sizes = ([[x[k] for x in new] for new in fresh] for k in (0, 1))
        strongest = max(matrix.sums, default=0)
        top = max(layer.largest, *map(max, layer.sizes), *map(max, layer.radii)) if layer.sizes else 0
        if (strongest * (top + 1)).bit_length() > 64 * words - 2:
            raise _TooLarge("values inside a network are too large for the number of bits")
        pack = pack_small_fields if words > 1 and top.bit_length() < 63 else pack_fields
        small = words > 1 and (strongest * top >> places).bit_length() < 62
        unpack = unpack_small_fields if small else partial(unpack_fields, places=0)
        vectors = [pack(list(chain.from_iterable(entry)), words) for entry in compress(layer.entries, used)]
        bounds = [
            pack([*radii, *sizes], words)
            for radii, sizes in zip(compress(layer.radii, used), compress(layer.sizes, used), strict=True)
        ]
        sums = map(sum, zip(*compress(layer.sizes, used), strict=True)) if any(used) else [0] * parts
        # as stored weights are off by 1/2
        off = [0] * parts if matrix.exact else [(total >> (places + 1)) + 1 for total in sums]
        factor = count + 2 if count < 4000 else 2 * count + 2  # at least g(count + 1) / u
        entries, wide, large, highest = [], [], [], 0
        for row, heights, bias in zip(matrix.rows, matrix.sizes, matrix.bias, strict=True):
            packed = sum(map(mul, compress(row, used), vectors))
            values = unpack(divide_fields(packed, parts * old, words, places), parts * old, words)
            packed = sum(map(mul, compress(heights, used), bounds))
            both = unpack(divide_fields(packed, 2 * parts, words, places), 2 * parts, words)
            centre, remainder = divmod(bias.numerator << self.bits, bias.denominator)
            highest = max(highest, abs(centre))
            entry, radii, sizes = [], [], []
            for part in range(parts):
                own = values[part * old : (part + 1) * old]
                own[0] += centre
                if more:
                    own += gaps[part][: layer.first - old]
                    every = len(fresh_places[part]) == count
                    picked = row if every else [row[i] for i in fresh_places[part]]
                    own += map(rshift, map(mul, picked, fresh_sizes[part]), repeat(places))
                    own += gaps[part][layer.first - old :]
                entry.append(own)
                reach = both[parts + part] + off[part] + abs(centre) + 3
                error = (reach * factor >> 24) + 2  # the second unit is for (4 n + 4) t
                radii.append(both[part] + 1 + off[part] + fields + bool(remainder) + error)
                sizes.append(reach + error + fields)
            entries.append(entry)
            wide.append(radii)
            large.append(sizes)
        most = (strongest * layer.largest >> places) + highest + fields + 1
        return Layer(entries, wide, large, most, fields, None, fields)

    def _activate(self, layer: Layer, kind: str, parameters: Sequence[Fraction], first: int) -> Layer:
        """`first`: the number of the first fresh symbol."""
        layer = layer.settle()
        fields, bits = layer.fields, self.bits
        entries, fresh, radii, sizes, largest = [], [], [], [], 0
        for entry, own_radii in zip(layer.entries, layer.radii, strict=True):
            found: list[tuple[list[int], int, int, int]] = []
            for part, (values, radius) in enumerate(zip(entry, own_radii, strict=True)):
                plain = sum(map(abs, values))
                width = plain - abs(values[0]) + radius
                if self.bases is not None and not (kind == "relu" and width <= abs(values[0])):
                    inputs = sum(map(abs, values[1 : self.bases[part].count + 1]))
                    width += self.bases[part].spread(values) - inputs
                low, high = values[0] - width, values[0] + width
                line = activation_line(kind, low, high, bits, parameters)
                if line is None:  # it is what it was
                    found.append((values, 0, radius, max(-low, high)))
                else:
                    slope, (least, most), error = line
                    middle = (least + most) >> 1
                    spread = most - middle
                    if slope:
                        new = [x * slope >> SLOPE for x in values]
                        new[0] += middle
                        spread += (abs(slope) * radius >> SLOPE) + 1 + fields
                    else:
                        new = [middle] + [0] * (fields - 1)
                    nothing = not (slope or spread or middle)
                    size = error if nothing else line_size(line, low, high) + spread + fields + 2
                    found.append((new, spread, error, size))
                    plain = (abs(slope) * plain >> SLOPE) + abs(middle) + spread + fields + 1
                largest = max(largest, plain)
            entries.append([x[0] for x in found])
            fresh.append([x[1] for x in found])
            radii.append([x[2] for x in found])
            sizes.append([x[3] for x in found])
        return Layer(entries, radii, sizes, largest, fields, fresh, first)

    def _by_forms(self, layers: Sequence[Layer], node: Node) -> Layer:
        """Other nodes, form by form."""
        settled = {source: layers[source].settle() for source in flat_node_sources(node)}
        fields = max((layer.fields for layer in settled.values()), default=1)
        several = [self._form_node(settled, node, part, fields) for part in range(self.parts)]
        return self._collect(several, fields)

    def _form_node(self, settled: dict[int, Layer], node: Node, part: int, fields: int) -> list[Form]:
        arithmetic = FormArithmetic(self.bits, fields - 1)

        def forms(source: int) -> list[Form]:
            layer = settled[source]
            gap = [0] * (fields - layer.fields)
            pairs = zip(layer.entries, layer.radii, strict=True)
            return [(entry[part][0], entry[part][1:] + gap, r[part]) for entry, r in pairs]

        rounded = True
        match node:
            case ElementwiseNode(source, "add", constant):
                found = [
                    arithmetic.add(x, arithmetic.enclose_number(Fraction(c)))
                    for x, c in zip(forms(source), constant, strict=True)
                ]
            case ElementwiseNode(source, kind, constant):
                factors = [Fraction(c) if kind == "multiply" else 1 / Fraction(c) for c in constant]
                found = [
                    arithmetic.scale(x, f.numerator, f.denominator)
                    for x, f in zip(forms(source), factors, strict=True)
                ]
            case CombineNode(left, right, kind):
                rounded = kind != "maximum"
                found = [
                    _combine_forms(arithmetic, kind, x, y)
                    for x, y in zip(forms(left), forms(right), strict=True)
                ]
            case PickNode(source, indices):
                rounded, all_forms = False, forms(source)
                found = [all_forms[i] for i in indices]
            case TreesNode():
                raise Refused("decision trees are not followed through time")
            case _:
                rounded = False
                found = [x for source in flat_node_sources(node) for x in forms(source)]
        if rounded:
            found = [(c, a, r + (form_size((c, a, r)) >> 24) + 2) for c, a, r in found]
        return found


def _combine_forms(arithmetic: FormArithmetic, kind: str, x: Form, y: Form) -> Form:
    match kind:
        case "sum":
            return arithmetic.add(x, y)
        case "product":
            return arithmetic.multiply(x, y)
        case "maximum":
            return arithmetic.maximum(x, y)
    return arithmetic.multiply(x, arithmetic.reciprocal(y))
