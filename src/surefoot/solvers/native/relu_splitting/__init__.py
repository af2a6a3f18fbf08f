"""Batched dual branch and bound with ReLU splitting, for chains of ReLU layers with many inputs.

`branch_and_bound.refute_chain_problem` asks whether some x of a box makes all rows of a `ChainProblem` hold:
`ChainRefutation` is a proof in exact arithmetic, `CandidatePoint` a point to be checked, `SearchGaveUp` says
why neither. `query_search.ReluSplitting` does all of it for a query. A batch of up to 256 sub-domains is

  narrowed by its newest splits, bounded in its deeper layers (neuron_bounds), bounded by duality with a few
  steps of ascent (dual_bound), contracted and clipped by the best inequality found (neuron_bounds), and split
  at the neuron with the costliest relaxation (domain_splitting); without undecided neurons a linear program
  delivers the multipliers (leaf_program). A search that takes long begins once more and tries several neurons
  before it splits one. Where rows are like clauses, boxes are first shrunk by each of them; now and then an
  attack goes downhill from where the relaxation is best (branch_and_bound).

Rigour. Weights, rows and offsets are exact float64 numbers. Bounds and boxes are widened, and dual bounds
lowered, by an error term: unit roundoff times the number of operations times sums of absolute values
(`TermMagnitudes`), and by the noise of every neuron: errors of representation and float32 arithmetic. Bounds
may rest on the wish that all rows hold: they are true of all wanted points of a sub-domain, which is all that
a refutation needs. NaN compares false everywhere and so never closes anything.

Evidence. Everything that the search uses is a step of docs/certificates.md: `cut` with the multipliers of the
last ascent, `bound` with a price of the cut for each neuron that is clipped, `split`, `drop`. All multipliers
are multiples of powers of two, slopes of 1/128, so the checker sees the numbers of the search
(splitting_log).
"""
