"""Terms and one file for each of their meanings."""
