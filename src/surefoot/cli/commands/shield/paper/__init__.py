"""The tables of the shield paper made again, and what shields cost at run time."""
