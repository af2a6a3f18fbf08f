"""Shields of finite systems: which actions may be permitted in which states, and what to do instead."""
