"""Finite decision processes, what is asked about them and what a solver answers."""

from surefoot.query.markov.process import Markov
from surefoot.query.markov.question import Accumulate, Instant, MarkovAnswer, MarkovQuestion, Optimise, Until

__all__ = ["Accumulate", "Instant", "Markov", "MarkovAnswer", "MarkovQuestion", "Optimise", "Until"]
