"""Certificates forged by rules: claims whose truth is known, with the evidence that a liar would give."""
