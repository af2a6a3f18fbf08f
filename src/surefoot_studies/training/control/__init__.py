"""Actors for plants with continuous controls, by deep deterministic policy gradients in numpy."""
