"""Sets of states of polynomial systems that no step leaves (docs/certificates.md, section 12)."""
