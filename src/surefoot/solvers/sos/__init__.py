"""Polynomials that are nowhere negative, by sums of squares: found in floats (Clarabel), made exact."""
