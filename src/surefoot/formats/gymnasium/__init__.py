"""Environments of the Gymnasium library as models: named as there, and executed as there."""
