"""Engines by name. To add one: write engines/<name>.py, add one line here."""

from surefoot.engines.barrier import Barrier
from surefoot.engines.bmc import Bmc
from surefoot.engines.explicit import Explicit
from surefoot.engines.falsify import Falsify
from surefoot.engines.induction import Induction
from surefoot.engines.predicates import Predicates
from surefoot.engines.protocol import Engine
from surefoot.engines.reach import Reach
from surefoot.engines.recurrence import Recurrence
from surefoot.engines.statistical import Statistical

ENGINES: dict[str, type[Engine]] = {
    "falsify": Falsify,
    "bmc": Bmc,
    "induction": Induction,
    "recurrence": Recurrence,
    "explicit": Explicit,
    "predicates": Predicates,
    "barrier": Barrier,
    "reach": Reach,
    "statistical": Statistical,
}
