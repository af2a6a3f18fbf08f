"""`surefoot heatmap`: values of all starts as pictures."""

from surefoot.cli.commands.heatmap.command import heatmap

__all__ = ["heatmap"]
