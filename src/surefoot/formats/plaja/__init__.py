"""Questions of PlaJA about JANI models: other starts, a policy, predicates, perhaps in files of their own."""

from surefoot.formats.plaja.questions import Question, read_questions

__all__ = ["Question", "read_questions"]
