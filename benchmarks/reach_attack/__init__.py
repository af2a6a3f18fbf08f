"""Attacks on engine `reach` and on the checker of its certificates, with an oracle of their own."""
