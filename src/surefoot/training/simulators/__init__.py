"""Simulators of the three systems that the studies are about; numpy only, many episodes at once."""

from surefoot.training.simulators.aurora import Aurora
from surefoot.training.simulators.deeprm import DeepRM
from surefoot.training.simulators.pensieve import Pensieve
from surefoot.training.simulators.protocol import BatchSimulator

SIMULATORS: dict[str, type[BatchSimulator]] = {"aurora": Aurora, "deeprm": DeepRM, "pensieve": Pensieve}
