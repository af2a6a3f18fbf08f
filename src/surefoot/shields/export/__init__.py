"""Programs and shields as source code that needs nothing: a Python module, and C99."""
