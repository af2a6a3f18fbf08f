"""Rows of a batch split among threads. Machine code runs without the interpreter's lock.

What is split computes every row by itself, so that nothing depends on how many threads there are.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache

_LEAST_ROWS = 2048  # of a part: less is done sooner than said
_GRAIN = 64


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="rows")


def run_row_parts(count: int, threads: int, work: Callable[[int, int], int]) -> int:
    """`work(start, stop)` for parts that cover all rows; the bits of all its answers together."""
    parts = min(threads, count // _LEAST_ROWS)
    if parts <= 1:
        return work(0, count)
    size = -(-count // (parts * _GRAIN)) * _GRAIN
    bounds = [(start, min(start + size, count)) for start in range(0, count, size)]
    others = [_pool(threads).submit(work, *bound) for bound in bounds[1:]]
    found = work(*bounds[0])
    for other in others:
        found |= other.result()
    return found
