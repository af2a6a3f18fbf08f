"""Chains of affine layers and ReLUs in machine code: the bounds of `bounding`, box by box."""
