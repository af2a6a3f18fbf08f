"""Bounds of sub-domains: relaxations, duality, linear programs, and smaller boxes from them."""
