"""Terms and edges as LLVM IR."""
