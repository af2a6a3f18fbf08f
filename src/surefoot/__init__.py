"""surefoot: proofs, probabilities and shields for neural-network policies."""
