"""Commands drawn at random, for `benchmarks.deadlines`: all commands with a limit, on models of all kinds.

A kind of model says which engines and commands make sense of it; the options that are drawn beside them
change what is done after an answer (certificates, pages, pictures), or how it is looked for. A command that
is refused (exit code 2) says nothing about deadlines, so that another one is drawn in its place.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random


@dataclass(frozen=True, slots=True)
class Subject:
    """A model, the options that it needs, and what can be asked about it."""

    kind: str
    model: str  # a name of `late_models`, a file below the folder of data, or a problem of a study
    options: str = ""
    properties: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Drawn:
    model: str
    arguments: str  # `{}` is the model, `OUT` a folder, `DATA` the folder of data
    seconds: float


_SEARCHES = (
    "",
    " --engine bmc",
    " --engine bmc --solver native",
    " --engine bmc --solver z3",
    " --engine bmc --solver milp",
    " --engine induction",
    " --engine induction --solver z3",
    " --engine falsify",
    " --engine recurrence",
)
_FINITE = (" --engine explicit", " --engine explicit --tier interpreter", " --engine explicit --fuse")
_ABSTRACT = (
    " --engine predicates",
    " --engine predicates --means table",
    " --engine predicates --means cells",
    " --engine predicates --configuration pa-milp",
    " --engine predicates --configuration pa-z3",
)
_PLANT = (" --engine reach", " --engine barrier", " --engine barrier --degree 4 --polynomial")
_NUMBERS = (
    "",
    " --engine explicit",
    " --engine explicit --exact",
    " --engine explicit --tier interpreter",
    " --engine explicit --width 1e-9",
    " --engine statistical --uniform --eps 0.001",
    " --engine statistical --uniform --method okamoto --eps 0.0005",
)
_FILES = (
    "",
    "",
    " --json OUT/r.json",
    " --report OUT/r.html",
    " --json OUT/r.json --report OUT/r.html",
    " --certificate OUT/c.json.gz",
    " --witnesses 5",
    " --svg OUT/p.svg",
)
_CONTROL_NETS = ("oscillator", "cartpole", "biology", "quadcopter", "satellite", "tape", "self_driving")
_GIVEN = {  # larger than in the table of references, so that time matters
    "brp": {"N": "1024", "MAX": "9"},
    "crowds": {"TotalRuns": "6", "CrowdSize": "15"},
    "haddad-monmege": {"N": "300", "p": "0.7"},
    "consensus": {"K": "64"},
    "firewire": {"delay": "36", "deadline": "800"},
    "firewire_dl": {"delay": "36", "deadline": "800"},
    "resource-gathering": {"B": "1300", "GOLD_TO_COLLECT": "100", "GEM_TO_COLLECT": "100"},
    "zeroconf": {"N": "1000", "K": "8", "reset": "true"},
    "coupon": {"B": "5"},
    "oscillators": {"mu": "0.1", "lambda": "1.0"},
    "beb": {"N": "3"},
}


def draw_commands(seed: int, shared: Path | None) -> Iterator[Drawn]:
    """Without end; the same for the same seed and data."""
    random, subjects = Random(seed), list_subjects(shared)
    kinds = sorted(subjects)
    while True:
        subject = random.choice(subjects[random.choice(kinds)])
        arguments = draw_arguments(subject, random)
        yield Drawn(subject.model, arguments, round(random.uniform(1.0, 30.0), 1))


def draw_arguments(subject: Subject, random: Random) -> str:
    asked = f" {subject.options}" if subject.options else ""
    if subject.properties:
        asked += f" --property {random.choice(subject.properties)}"
    return random.choice(_MAKERS[subject.kind])(asked, random)


def _ask_finite(asked: str, random: Random) -> str:
    drawn = random.randrange(10)
    if drawn < 6:
        return f"check {{}}{asked}{random.choice(_SEARCHES + _FINITE + _ABSTRACT)}{random.choice(_FILES)}"
    if drawn == 6:
        return f"starts {{}}{asked}{random.choice(('', ' --parts 200', ' --json OUT/s.json'))}"
    if drawn == 7:
        return f"faults {{}}{asked}{random.choice(('', ' --runs 10000', ' --report OUT/f.html'))}"
    if drawn == 8:
        return f"shield {{}}{asked}{random.choice(('', ' --certificate OUT/c.json --report OUT/s.html'))}"
    return f"check {{}}{asked} --witnesses 200{random.choice(('', ' --report OUT/r.html'))}"


def _ask_value(asked: str, random: Random) -> str:
    drawn = random.randrange(8)
    if drawn < 5:
        files = random.choice(("", " --json OUT/r.json", " --report OUT/r.html", " --certificate OUT/c.gz"))
        return f"check {{}}{asked}{random.choice(_NUMBERS)}{files}"
    if drawn == 5:
        return f"optimum {{}}{asked}{random.choice(('', ' --exact', ' --json OUT/o.json'))}"
    engine = random.choice(("", " --engine statistical --uniform", " --no-certificates"))
    return f"heatmap {{}}{asked}{engine}{random.choice((' --svg OUT/h.svg', ' --report OUT/h.html', ''))}"


def _ask_plant(asked: str, random: Random) -> str:
    drawn = random.randrange(10)
    if drawn < 5:
        return f"check {{}}{asked}{random.choice(_PLANT + _SEARCHES)}{random.choice(_FILES)}"
    if drawn == 5:
        engine = random.choice(("", " --engine reach", " --engine falsify"))
        return f"check {{}}{asked} --time continuous{engine}"
    if drawn == 6:
        return f"starts {{}}{asked}{random.choice(('', ' --engine reach', ' --report OUT/s.html'))}"
    if drawn == 7:
        return f"faults {{}}{asked}{random.choice(('', ' --runs 10000', ' --report OUT/f.html'))}"
    files = random.choice(("", " --certificate OUT/c.json", " --runs 200", " --report OUT/r.html --runs 50"))
    return (
        f"shield {{}}{asked}{random.choice(('', ' --degree 2', ' --degree 4', ' --set polyhedron'))}{files}"
    )


def _ask_network(asked: str, random: Random) -> str:
    files = random.choice(("", " --json OUT/r.json", " --report OUT/r.html", " --certificate OUT/c.json.gz"))
    return (
        f"vnnlib {{}}{random.choice(('', '', ' --solver native', ' --solver z3', ' --solver milp'))}{files}"
    )


def _ask_moving(asked: str, random: Random) -> str:
    """A network in a loop, about which bounds are looked for."""
    if random.randrange(3):
        return _ask_finite(asked, random)
    what = random.choice(
        ("--inductive s0<= 0 10", "--tighten s1<= --between 0 1", "--tighten s0<= --between 0 3 --probe 5")
    )
    return f"invariant {{}}{asked} {what}{random.choice(('', ' --json OUT/i.json', ' --report OUT/i.html'))}"


def _ask_study(asked: str, random: Random) -> str:
    more = random.choice((*_SEARCHES, *_ABSTRACT, " --engine explicit", " --abstract auto"))
    return f"check {{}}{asked}{more}{random.choice(_FILES)}"


def _ask_many(asked: str, random: Random) -> str:
    """Each problem of a sweep has the time for itself."""
    engines = random.choice(
        ("", " --engine explicit", " --engine falsify", " --engine bmc --engine explicit")
    )
    pages = random.choice(("", " --run-directory OUT/sweep-NUMBER", " --report OUT/s.html"))
    return f"sweep {{}}{asked}{engines} --workers 2{pages} --json -"


def _ask_evidence(asked: str, random: Random) -> str:
    return f"certify {{}}{random.choice(('', ' --json OUT/k.json'))}"


_MAKERS = {
    "made, finite": (_ask_finite,),
    "made, values": (_ask_value,),
    "middle, finite": (_ask_finite,),
    "middle, values": (_ask_value,),
    "made, loop": (_ask_moving,),
    "made, plant": (_ask_plant,),
    "network": (_ask_network,),
    "evidence": (_ask_evidence,),
    "sweep": (_ask_many,),
    "study": (_ask_study,),
    "study, values": (_ask_value,),
    "study, plant": (_ask_plant,),
    "jani, values": (_ask_value,),
    "jani, planning": (_ask_finite,),
    "prism": (_ask_value,),
    "closed loop": (_ask_plant,),
    "control": (_ask_plant,),
}


def list_subjects(shared: Path | None) -> Mapping[str, Sequence[Subject]]:
    """By kind, which are drawn alike."""
    found: dict[str, list[Subject]] = {
        "made, finite": [
            *(Subject("made, finite", f"planning-{n}", "", ("safe",)) for n in (88, 212)),
            Subject("made, finite", "grid-110", "", ("safe",)),
            Subject("made, finite", "ridge-60", "", ("safe",)),
            Subject("made, finite", "ridge-1100", "", ("safe",)),
            Subject("made, finite", "chain-3000000", "", ("safe", "soon")),
            Subject("made, finite", "automata-11", "", ("safe",)),
        ],
        "made, values": [
            Subject("made, values", "planning-88", "", ("chance",)),
            Subject("made, values", "grid-110", "", ("chance", "effort")),
            Subject("made, values", "ridge-60", "", ("chance",)),
            Subject("made, values", "ridge-1100", "", ("chance",)),
            Subject("made, values", "chain-3000000", "", ("arrives",)),
            Subject("made, values", "automata-11", "", ("chance",)),
        ],
        # Solved in some seconds, so that the time may end while an answer is checked, written or drawn.
        "middle, finite": [
            Subject("middle, finite", name, "", ("safe",))
            for name in ("grid-40", "ridge-250", "chain-100000", "automata-6")
        ],
        "middle, values": [
            *(Subject("middle, values", name, "", ("chance",)) for name in ("ridge-250", "automata-6")),
            Subject("middle, values", "grid-40", "", ("chance", "effort")),
            Subject("middle, values", "chain-100000", "", ("arrives",)),
        ],
        "made, loop": [
            Subject("made, loop", "deep-256", "", ("low",)),
            Subject("made, loop", "rod-64", "", ("upright", "bounded")),
        ],
        "made, plant": [Subject("made, plant", "polynomial-6")],
        "network": [Subject("network", "wide-512")],
        "evidence": [Subject("evidence", n) for n in ("proved-ridge", "proved-grid", "foreign-12")],
        "sweep": [
            *(Subject("sweep", name, "", ("safe",)) for name in ("planning-88", "grid-110", "ridge-60")),
            Subject("sweep", "ridge-60", "", ("chance", "P>={p}([(F(x=60(]) --value p=0.1,0.9")),
            Subject("sweep", "chain-3000000", "", ("arrives", "soon")),
        ],
        "study": [Subject("study", name) for name in _STUDIES],
        "study, values": [
            Subject("study, values", f"racetrack/{name}")
            for name in ("goal/small", "goal/big-random", "crash/ring", "crash/ring-random", "goal/ring-best")
        ],
        "study, plant": [Subject("study, plant", name) for name in _PLANTS],
    }
    return found if shared is None else found | _shared_subjects(shared)


_STUDIES = (
    *(f"aurora/{p}/aurora-{n}" for p in ("safety-excellent", "liveness-excellent") for n in ("48", "32x16")),
    *("blocksworld/room-3", "blocksworld/stalls", "npuzzle/jams", "npuzzle/stalls"),
    *("line-transport/one-way", "line-transport/two-ways", "line-transport/one-way-early"),
    *("pensieve/reaches-best/pensieve-32x16", "pensieve/leaves-best/pensieve-32x16"),
    *("deeprm/free-cluster/deeprm-20", "deeprm/keeps-placing-cpu-jobs/deeprm-20"),
    *("racetrack/end-cell/16", "racetrack/end-cell/64", "toy/below-thirteen"),
)
_PLANTS = (
    *("closed-loop/docking/speed-limit", "closed-loop/double-pendulum/slow", "closed-loop/tora-tanh/inside"),
    *("closed-loop/gym-cartpole/steps-500", "closed-loop/gym-pendulum-swing/slow"),
    *("closed-loop/gym-mountaincar/arrives", "closed-loop/parking/kerb", "closed-loop/quadrotor/low"),
    *("pendulum/within-90-degrees", "pendulum/within-90-degrees-disturbed"),
    *("control/duffing", "control/self-driving", "control/eight-car-platoon", "control/biology"),
    *("control/oscillator", "control/tape", "control/satellite"),
)


def _shared_subjects(shared: Path) -> Mapping[str, Sequence[Subject]]:
    return {
        "network": [Subject("network", "wide-512"), *_list_queries(shared)],
        "jani, values": [*_list_references(shared), *_list_racetracks(shared)],
        "jani, planning": _list_planning(shared),
        "prism": _list_prism(shared),
        "closed loop": [
            Subject("closed loop", f"ainncs/problems/{path.name}")
            for path in sorted((shared / "ainncs" / "problems").glob("*.toml"))
        ],
        "control": [
            Subject(
                "control",
                f"control/network-{name.replace('_', '-')}",
                f"--policy DATA/control/nets/{name}.onnx",
            )
            for name in _CONTROL_NETS
        ],
    }


def _list_queries(shared: Path) -> list[Subject]:
    """Network and specification, `|` between them."""
    found = []
    for folder in ("acasxu", "cersyve", "lsnc_relu", "sat_relu", "planted_needles"):
        place = shared / "queries" / folder
        with open(place / "answers.csv", encoding="utf-8") as stream:
            rows = list(csv.DictReader(stream))[:12]
        for row in rows:
            files = [_packed(place / row[name]) for name in ("onnx", "vnnlib")]
            if all(one.exists() for one in files):
                found.append(Subject("network", "|".join(str(one.relative_to(shared)) for one in files)))
    return found


def _packed(path: Path) -> Path:
    return path if path.exists() else path.with_name(path.name + ".gz")


def _list_references(shared: Path) -> list[Subject]:
    folder = "jani/qvbs"
    rows = json.loads((shared / folder / "conformance.json").read_text(encoding="utf-8"))
    found = []
    for row in rows:
        name = Path(row["file"]).parts[0]
        given = _GIVEN.get(name, {k: str(v).lower() for k, v in row["params"].items()})
        options = " ".join(f"--const {n}={v}" for n, v in given.items())
        found.append(Subject("jani, values", f"{folder}/{row['file']}", options, (row["property"],)))
    return list(dict.fromkeys(found))


def _list_racetracks(shared: Path) -> list[Subject]:
    files = [f"jani/racetrack/racetrack_{n}.jani" for n in ("barto_sml", "barto_big", "ring")]
    return [Subject("jani, values", one, "", ("goalProbability",)) for one in files]


def _list_planning(shared: Path) -> list[Subject]:
    """PlaJA's instances: 32 to 80 edges of models and networks of others."""
    icaps = "jani/plaja/icaps22/blocksworld"
    asked = f"DATA/{icaps}/additional_properties/safety_verification/cost05"
    common = "--const failing_probability=0.5 --const item_cost_bound=50"
    return [
        Subject(
            "jani, planning",
            "jani/plaja/blocksworld/cost_terminal/models/legacy_enc/blocksworld_4_3.jani",
            common,
            ("pa_model-blocksworld_4_3_prop-compact_starts_no_predicates",),
        ),
        Subject(
            "jani, planning",
            f"{icaps}/models/cost05/blocksworld_6_5.jani",
            "",
            (
                f"{asked}/blocksworld_6_5/compact_starts_cost_predicates_afterwards/learned_cost05_non_terminal"
                "/pa_compact_starts_cost_predicates_afterwards_blocksworld_6_5_32_32.jani",
            ),
        ),
        Subject(
            "jani, planning",
            f"{icaps}/models/cost05/blocksworld_8_7.jani",
            "",
            (
                f"{asked}/blocksworld_8_7/compact_starts_cost_predicates_afterwards/learned_no_cost"
                "/pa_compact_starts_cost_predicates_afterwards_blocksworld_8_7_16_16.jani",
            ),
        ),
        Subject(
            "jani, planning",
            "jani/plaja/npuzzle/compact_starts_non_terminal/models/offset_enc/npuzzle_3_3.jani",
            f"{common} --const cost_terminal=50 --no-policy",
            ("8-puzzle-safety",),
        ),
    ]


def _list_prism(shared: Path) -> list[Subject]:
    """Each line of a `models` file with each property file of its folder."""
    found = []
    for folder in sorted(p.parent for p in (shared / "prism").glob("*/models")):
        for line in (folder / "models").read_text(encoding="utf-8").splitlines():
            words = line.split()
            if not words or line.startswith("#") or not (folder / words[0]).exists():
                continue
            given = words[words.index("-const") + 1].split(",") if "-const" in words else []
            options = " ".join(f"--const {one}" for one in given)
            for file in sorted(folder.glob("*.pctl")):
                asked = f"--properties DATA/prism/{folder.name}/{file.name} {options}".strip()
                found.append(Subject("prism", f"prism/{folder.name}/{words[0]}", asked))
    return found
