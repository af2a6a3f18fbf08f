"""Does the checker accept anything false? Claims of known truth, their certificates, and mutants of these."""
