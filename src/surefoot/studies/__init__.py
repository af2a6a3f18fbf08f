"""The papers' case studies as data: each folder has `problem.py`, `expected.toml` and `README.md`."""

STUDIES: dict[str, str] = {
    "aurora": "surefoot.studies.aurora",
    "blocksworld": "surefoot.studies.blocksworld",
    "control": "surefoot.studies.control",
    "deeprm": "surefoot.studies.deeprm",
    "line-transport": "surefoot.studies.line_transport",
    "npuzzle": "surefoot.studies.npuzzle",
    "pendulum": "surefoot.studies.pendulum",
    "pensieve": "surefoot.studies.pensieve",
    "racetrack": "surefoot.studies.racetrack",
    "toy": "surefoot.studies.toy",
}
