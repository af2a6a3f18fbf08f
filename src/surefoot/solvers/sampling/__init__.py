"""Statistics of runs: when to stop, and what is then known (`docs/reference/statistics.md`).

Nothing here knows environments or policies: runs are outcomes in the order of their indices.
"""
