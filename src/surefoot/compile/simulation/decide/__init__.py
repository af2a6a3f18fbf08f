"""How a compiled run gets its decisions: in machine code, in batches, or one by one."""
