"""What a certificate is made of: strict JSON, terms, queries, networks and their files, one reader each."""
