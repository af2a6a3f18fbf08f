"""Transition tables: finite problems whose steps are listed, state by state, and policies that are tables."""

from surefoot.formats.tables.table_model import TableModel, TableQuestions, build_table_model
from surefoot.formats.tables.transition_table import TableLimits, TransitionTable, explore_transitions

__all__ = [
    "TableLimits",
    "TableModel",
    "TableQuestions",
    "TransitionTable",
    "build_table_model",
    "explore_transitions",
]
