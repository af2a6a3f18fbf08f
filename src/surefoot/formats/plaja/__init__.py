"""Questions of PlaJA about JANI models: other starts, a policy, predicates, perhaps in files of their own."""

from surefoot.formats.plaja.questions import PlajaProperty, read_plaja_properties

__all__ = ["PlajaProperty", "read_plaja_properties"]
