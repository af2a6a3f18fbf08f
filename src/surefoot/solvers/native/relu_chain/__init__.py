"""Chains of ReLU layers in machine code: twice on purpose, box by box what `network.back_substitution` does.

The kernel in numpy takes four times as long (docs/decisions); tests compare both on random chains.
"""
