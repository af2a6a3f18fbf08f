"""Certificates of the input-splitting search: which steps confirm a box, and how they are written."""
