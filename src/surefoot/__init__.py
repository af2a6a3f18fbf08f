"""surefoot: proofs, probabilities and shields for neural-network policies.

The names in `__all__` are what users write; `surefoot.api` says where they come from. They are imported
when they are first used, so that `import surefoot` is instant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from surefoot.api import HOMES as _HOMES
from surefoot.api import USER_NAMES as _USER_NAMES

if TYPE_CHECKING:
    from surefoot.api import *  # noqa: F403 - exactly the names of its table
else:  # who checks types and saw this would believe that every name is there
    __all__ = list(_USER_NAMES)

    def __getattr__(name: str) -> object:
        if name == "__version__":
            from importlib.metadata import version

            return version("surefoot")
        if name not in _HOMES:
            from surefoot.errors import did_you_mean

            known = "" if name.startswith("_") else f"; {did_you_mean(name, _USER_NAMES)}"
            raise AttributeError(f"module `surefoot` has no attribute `{name}`{known}")
        from surefoot import api

        return getattr(api, name)


def __dir__() -> list[str]:
    return list(_USER_NAMES)
