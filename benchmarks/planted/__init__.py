"""Bugs put into a copy of the tree, one at a time: do the tests notice?"""
