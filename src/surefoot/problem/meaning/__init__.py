"""What terms, networks, decisions and steps mean: the parts that `problem/semantics.py` puts together."""
