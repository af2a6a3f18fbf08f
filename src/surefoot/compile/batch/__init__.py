"""Many states at once: terms and shields over columns of doubles, bit for bit as one state at a time."""

from surefoot.compile.batch.vectorised_guard import BatchGuard, GuardDecisions
from surefoot.compile.batch.vectorised_terms import VectorisedTerms, vectorise_terms

__all__ = ["BatchGuard", "GuardDecisions", "VectorisedTerms", "vectorise_terms"]
