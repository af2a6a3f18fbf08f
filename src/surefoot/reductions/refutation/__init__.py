"""What refutes a property: as conditions about an unrolled run, and as a fact about a true run."""
