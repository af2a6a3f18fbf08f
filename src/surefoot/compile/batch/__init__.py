"""Many states at once: terms and shields over columns of doubles, bit for bit as one state at a time."""

from surefoot.compile.batch.columns import VectorisedTerms, vectorise_terms
from surefoot.compile.batch.guard import BatchGuard, GuardDecisions

__all__ = ["BatchGuard", "GuardDecisions", "VectorisedTerms", "vectorise_terms"]
