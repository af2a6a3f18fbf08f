"""Many states at once: terms and shields over columns of doubles, bit for bit as one state at a time."""

from surefoot.compile.batch.columns import Columns, columns
from surefoot.compile.batch.guard import BatchGuard, Decided

__all__ = ["BatchGuard", "Columns", "Decided", "columns"]
