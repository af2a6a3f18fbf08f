"""Certificates about probabilities and expected rewards."""
