"""Other engines, each asked in a process of its own: `python -m benchmarks.rivals ENGINE FILE CAP`.

These modules run in the environment of the other engines: nothing of surefoot is imported here.
"""
