"""Claims about all runs of a finite system."""
