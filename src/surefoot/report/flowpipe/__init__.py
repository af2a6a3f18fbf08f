"""Flowpipes as pictures: the sets that runs stay in, over time and in two variables, with runs in them."""
