"""The proof of a certificate: cases, sets of atoms that cover them, and steps that close every state."""
