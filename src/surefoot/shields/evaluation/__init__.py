"""Campaigns: many runs at once with and without a shield, by networks and by those who want it to fail."""
