"""Thousands of small questions over one network, answered together."""

from surefoot.solvers.native.batch_queries.batch import answer_batch_queries
from surefoot.solvers.native.batch_queries.output_table import OutputTable, tabulate_network
from surefoot.solvers.native.batch_queries.queries import (
    BatchAnswers,
    BatchQueries,
    QueryOutcome,
    RowSystem,
    argmax_row_system,
)

__all__ = [
    "BatchAnswers",
    "BatchQueries",
    "OutputTable",
    "QueryOutcome",
    "RowSystem",
    "answer_batch_queries",
    "argmax_row_system",
    "tabulate_network",
]
