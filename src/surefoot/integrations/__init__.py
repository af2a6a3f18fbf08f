"""surefoot inside other tools."""
