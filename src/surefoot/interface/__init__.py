"""What a user writes in Python; `surefoot/api.py` lists it."""
