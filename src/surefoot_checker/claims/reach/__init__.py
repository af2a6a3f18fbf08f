"""Claims about closed loops: sets of states followed through time."""
