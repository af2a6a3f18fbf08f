"""x = optimum over choices of (constant + P x): made small, solved, and bounded in exact integers."""
