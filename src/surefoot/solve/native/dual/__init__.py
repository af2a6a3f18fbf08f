"""Batched dual branch and bound with ReLU splitting, for chains of ReLU layers with many inputs.

`refute(layered(...))` asks whether some x of a box makes all rows hold: `Refuted` is a proof in exact
arithmetic, `Candidate` a point to be checked, `GaveUp` says why neither. A batch of 256 sub-domains is

  contracted by its newest splits (contract), bounded layer by layer (bounds), bounded by duality with a few
  steps of ascent (ascend, kernel), contracted and clipped by the best inequality found (contract, clip), and
  split at the neuron with the costliest relaxation (branch); without undecided neurons a linear program
  delivers the multipliers (leaf).

Rigour. Weights, rows and offsets are exact float64 numbers. Bounds and boxes are widened, and dual bounds
lowered, by an error term: unit roundoff times the number of operations times sums of absolute values
(`Magnitudes`). Bounds may rest on the wish that all rows hold: they are true of all wanted points of a
sub-domain, which is all that a refutation needs. NaN compares false everywhere and so never closes anything.

What a checker needs, besides the question: the entries of `Log` in their order. A node has a box, bounds and
phases of its neurons; node 0 the whole box. For each node it re-derives, in its own arithmetic,
  1. on entry: the parent's box, bounds, phases and cut, the phase of the split that made it, and bounds of
     neurons on the box (intervals; for deeper layers also backward substitution with the lower slope 1 where
     upper > -lower, else 0, on the box cut by the parent's inequality);
  2. `Shrunk` without a cut: the box follows from the newest first-layer split alone (one pass over inputs);
  3. `Shrunk` with a cut: its multipliers give an inequality slopes . x <= limit (see kernel) from which the
     box follows; then bounds of undecided first-layer neurons on the box so cut (clip), and a phase for every
     neuron whose bounds have one sign;
  4. `Closed`: bounds or box are contradictory, or the multipliers give a positive bound;
  5. `Split`: both children are there, and every node without `Split` is closed.
Any multipliers >= 0, slopes in [0, 1] and prices >= 0 are valid, and bounds tighter than ours do no harm.
"""

from surefoot.solve.native.dual.ascend import Steps
from surefoot.solve.native.dual.layered import Layered, layered
from surefoot.solve.native.dual.search import Answer, Candidate, GaveUp, Refuted, Settings, refute

__all__ = ["Answer", "Candidate", "GaveUp", "Layered", "Refuted", "Settings", "Steps", "layered", "refute"]
