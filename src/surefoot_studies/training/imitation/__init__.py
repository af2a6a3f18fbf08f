"""Policies that learn what an adviser says: those of the studies blocksworld, npuzzle and line-transport."""
