"""Closed sets of states as pictures: cut along two variables, with starts, unsafe states and runs."""
