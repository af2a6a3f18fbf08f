"""A sweep as people see it: each answer with its page, one table, one page with a matrix."""
