"""Policies of the study `closed-loop`: each imitates a regulator or a rule on a region, in numpy alone."""
