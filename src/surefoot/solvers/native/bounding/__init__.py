"""Rigorous bounds over boxes of inputs, and what they refute."""
