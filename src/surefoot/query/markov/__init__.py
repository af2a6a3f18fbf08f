"""Finite decision processes, what is asked about them and what a solver answers."""

from surefoot.query.markov.process import Markov
from surefoot.query.markov.question import Accumulate, Answer, Instant, Optimise, Question, Until

__all__ = ["Accumulate", "Answer", "Instant", "Markov", "Optimise", "Question", "Until"]
