"""Looking for solutions: gradient descent, corners of linear pieces, exact confirmation."""
