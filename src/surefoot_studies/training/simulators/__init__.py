"""Simulators of the three systems that the studies are about; numpy only, many episodes at once."""

from surefoot_studies.training.simulators.aurora import Aurora
from surefoot_studies.training.simulators.deeprm import DeepRM
from surefoot_studies.training.simulators.pensieve import Pensieve
from surefoot_studies.training.simulators.protocol import BatchSimulator

SIMULATORS: dict[str, type[BatchSimulator]] = {"aurora": Aurora, "deeprm": DeepRM, "pensieve": Pensieve}
