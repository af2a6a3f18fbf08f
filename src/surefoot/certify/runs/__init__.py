"""Certificates about whole executions: the problem written out, and a proof of every obligation."""
