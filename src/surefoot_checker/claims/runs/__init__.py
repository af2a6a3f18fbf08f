"""Claims about whole executions: the checker's own reading and unrolling of a problem."""
