"""`surefoot shield`: a program with proved sets, and a shield made of them."""

from surefoot.cli.commands.shield.command import shield

__all__ = ["shield"]
