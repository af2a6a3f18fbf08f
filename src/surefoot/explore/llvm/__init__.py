"""Exploration in machine code: edges become LLVM IR, a generic kernel does the rest."""
