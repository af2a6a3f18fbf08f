"""Exploration: the reachable states of a problem as a finite decision process, interpreted or compiled."""
