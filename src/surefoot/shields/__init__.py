"""Shields: programs with closed sets that cover the starts, and a policy that is overruled by them."""
