"""`surefoot starts`: which starts are safe."""

from surefoot.cli.commands.starts.command import starts

__all__ = ["starts"]
