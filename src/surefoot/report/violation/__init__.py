"""Pictures of runs that violate a property."""
