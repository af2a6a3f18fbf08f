"""Closed sets of a polynomial system as a certificate."""
