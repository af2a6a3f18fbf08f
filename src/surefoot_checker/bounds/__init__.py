"""Rigorous bounds of the values of a query, in integers that count steps of a fixed grid."""
