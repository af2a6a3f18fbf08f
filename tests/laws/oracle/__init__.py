"""An oracle for small problems: a second reading of the documentation that shares no code with surefoot.

`generate` and `ask` make random models and questions as data, `toml_text` and `jani_text` print them for
surefoot, `meaning`, `graph`, `runs` and `chance` find the truth by looking at every state, and `judge`
compares it with what surefoot says. `python -m tests.laws.oracle --count 5000` does this at length.
"""
