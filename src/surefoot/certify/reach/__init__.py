"""Certificates of closed loops: reachable sets that the checker computes again."""
