"""The table through which Python and the kernel talk: addresses and numbers, one i64 each."""

from __future__ import annotations

from enum import IntEnum, auto

from surefoot.work.machine.llvm_ir import IrFunction

GROW_STATES, GROW_CHOICES, GROW_OUTCOMES, GROW_NUMBERS = 3, 4, 5, 6  # further statuses
GROW_NODES, WAITS = 7, 8  # of simulation
GROW_FOLLOWING = 10
NEEDS_POLICY = 9  # the policy has to be asked, so that the state is not passed through
ZERO, ONE = 0, 1  # the first two numbers


class KernelField(IntEnum):
    """What is where; plural names and those with `_OF` are addresses of arrays."""

    POSITION = 0  # the next state to expand
    LIMIT = auto()  # do not expand this one
    STATE_LIMIT = auto()  # expand nothing more once there are so many states
    EDGE = auto()  # which edge a status is about, if one
    WORDS = auto()  # per packed state
    WIDTH = auto()  # numbers per unpacked state
    LEVELS = auto()
    REWARDS = auto()  # how many
    STATES = auto()
    STATE_COUNT = auto()
    STATE_ROOM = auto()
    INDEX = auto()  # hash table: upper 32 bits of the hash and number + 1
    INDEX_MASK = auto()
    CHOICES_OF = auto()  # per state, its first choice
    CHOICE_COUNT = auto()
    CHOICE_ROOM = auto()
    OUTCOMES_OF = auto()  # per choice, its first outcome
    CODES = auto()  # per choice, which edges it consists of
    OUTCOME_COUNT = auto()
    OUTCOME_ROOM = auto()
    TARGETS = auto()
    WEIGHTS = auto()
    REWARD_COLUMNS = auto()  # one after another, each OUTCOME_ROOM long
    TOPS = auto()
    BOTTOMS = auto()
    NUMBER_COUNT = auto()
    NUMBER_ROOM = auto()
    NUMBER_INDEX = auto()
    NUMBER_MASK = auto()
    NUMBERS = auto()  # the unpacked state, then scratch space for two more
    KEY = auto()  # scratch: a packed state
    ENABLED = auto()
    EDGE_COUNT = auto()
    PAIRS = auto()  # probabilities that depend on the state, per outcome
    PAIR = auto()  # scratch: one reward
    PICKED = auto()  # the edges of a choice
    TURN = auto()  # which outcome of each of them
    ALONE = auto()  # the edges that move alone
    ALONE_COUNT = auto()
    ALONE_ACTIONS = auto()  # of the policy, -1: none
    VECTOR_COUNT = auto()
    VECTOR_PARTS = auto()  # per vector, its first part
    VECTOR_CODES = auto()
    VECTOR_ACTIONS = auto()
    PART_EDGES = auto()  # per part, its first candidate
    PART_STRIDES = auto()
    CANDIDATES = auto()  # edges
    READY = auto()  # scratch: candidates that are enabled, part by part
    READY_COUNT = auto()
    READY_TURN = auto()
    MOST_READY = auto()
    OUTCOME_FIRST = auto()  # per edge, and one more
    OUTCOME_WEIGHTS = auto()  # -1: depends on the state
    OUTCOME_REWARDS = auto()  # per outcome and reward; -1: depends on the state
    EDGE_ACTIONS = auto()
    DECIDED = auto()  # per state, the action of the policy; 0: there is no policy
    MASKS = auto()  # per state, which actions are enabled; not 0: find out only that
    UNPACK = auto()
    PACK = auto()
    GUARDS = auto()
    UNTIL = auto()  # 0: all states are left
    APPLY_OF = auto()
    PROBABILITY_OF = auto()
    REWARD_OF = auto()
    LABELS = auto()
    QUANTITIES = auto()
    FACTS = auto()
    FACT_COUNT = auto()
    LABEL_BYTES = auto()
    LABEL_COUNT = auto()
    QUANTITY_COUNT = auto()
    QUANTITY_COLUMN = auto()
    # Of looking ahead:
    INNER = auto()  # a table for looking ahead, one state at a time; 0: every state is stored
    AHEAD = auto()  # not 0: this is that table
    KNOWN = auto()  # how many states there were before the choices of this one
    # Of simulation:
    LANES = auto()  # runs under way
    LANE_COUNT = auto()
    FIRST_RUN = auto()
    NEXT_RUN = auto()
    END_RUN = auto()
    SEED = auto()
    PLACE = auto()  # the fourth word of the counter
    START = auto()  # its number, -1: drawn
    START_COUNT = auto()
    START_STATES = auto()
    LOW_STEP = auto()
    HIGH_STEP = auto()
    MAX_STEPS = auto()
    STEP_LIMIT = auto()  # the smaller of the two
    NODE_OF = auto()  # per state, where its node is; 0: nowhere
    NODES = auto()
    NODE_COUNT = auto()
    NODE_ROOM = auto()
    LAST_RECORD = auto()  # scratch: the record to which the next one is attached
    THRESHOLD_OF = auto()  # per edge, where its thresholds are among the nodes; 0: they depend on the state
    CERTAIN_OF = auto()  # per edge, the outcome that is taken if no threshold is above the word
    MEMO = auto()
    UNIFORM = auto()
    FACT_CODES = auto()
    REWARD_KIND = auto()
    REWARD_SCALE = auto()
    REWARD_UNITS = auto()  # per outcome, if it is constant
    RUN_OUTCOMES = auto()
    RUN_STEPS = auto()
    RUN_LOWS = auto()
    RUN_HIGHS = auto()
    WAITING = auto()  # lanes that need a decision
    WAITING_COUNT = auto()
    FIRST_LOOK = auto()  # steps after which a run asks where it is going; never, if its reward counts
    CHECKING = auto()  # lanes that ask
    CHECKING_COUNT = auto()
    FOLLOWING = auto()  # states that can follow those of the lanes
    FOLLOWING_ROOM = auto()
    FOLLOWING_COUNT = auto()
    FOLLOWING_FIRST = auto()  # per lane
    FOLLOWING_LAST = auto()
    DECISIONS = auto()
    OBSERVE = auto()
    OBSERVATIONS = auto()  # rows
    INPUT_COUNT = auto()  # of a row
    LAYERS = auto()  # inputs, groups of outputs, addresses of weights and biases, is there a ReLU
    LAYER_COUNT = auto()
    VALUES = auto()  # scratch: of a block of rows, before and after a layer
    VALUE_ROOM = auto()
    OUTPUT_COUNT = auto()
    APPLICABLE = auto()  # only enabled actions are compared


class KernelFunction(IrFunction):
    """A function of the kernel: its first parameter is the table."""

    def __init__(self, name: str, more: str = "", *, internal: bool = True) -> None:
        super().__init__(name, "ptr noalias nocapture %table" + more, internal=internal)

    def field(self, field: KernelField) -> str:
        return self.load("%table", str(int(field)))

    def address(self, field: KernelField) -> str:
        return self.value(f"inttoptr i64 {self.field(field)} to ptr")

    def addresses(self, *fields: KernelField) -> tuple[str, ...]:
        return tuple(map(self.address, fields))

    def put_field(self, field: KernelField, value: str) -> None:
        self.store("%table", str(int(field)), value)

    def raise_field(self, field: KernelField, amount: str) -> None:
        self.put_field(field, self.add(self.field(field), amount))

    def item(self, field: KernelField, index: str) -> str:
        return self.load(self.address(field), index)

    def call(self, function: str, *arguments: str) -> str:
        """Call a function of the model; the arguments are pointers."""
        return self.value(f"call i64 {function}({', '.join('ptr ' + a for a in arguments)})")

    def own(self, name: str, *arguments: str) -> str:
        """Call a function of the kernel; the arguments are integers."""
        return self.value(f"call i64 @{name}(ptr %table{''.join(', i64 ' + a for a in arguments)})")

    def copy(self, source: str, target: str, count: str) -> None:
        with self.count("0", count) as i:
            self.store(target, i, self.load(source, i))

    def negative(self, status: str) -> None:
        """Pass on -status where a number was asked for."""
        bad = self.compare("slt", status, "0")
        with self.when(bad):
            self.do(f"ret i64 {self.sub('0', status)}")
