"""Results as JSON, complete and exact; `docs/reference/result-json.md` describes every key."""

from surefoot.formats.result_json.paths import base_of, certificate_relative_to, relative_to
from surefoot.formats.result_json.read import Annotation, StoredResult, from_json, verdict_from
from surefoot.formats.result_json.write import annotate, result_to_json, to_json

__all__ = [
    "Annotation",
    "StoredResult",
    "annotate",
    "base_of",
    "certificate_relative_to",
    "from_json",
    "relative_to",
    "result_to_json",
    "to_json",
    "verdict_from",
]
