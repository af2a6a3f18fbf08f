"""Results as JSON, complete and exact; `docs/reference/result-json.md` describes every key."""

from surefoot.formats.result_json.read import Annotation, StoredResult, result_from_json, verdict_from_json
from surefoot.formats.result_json.relative_paths import (
    certificate_relative_to,
    find_base_folder,
    result_relative_to,
)
from surefoot.formats.result_json.write import annotate_trace, annotated_result_to_json, result_to_json

__all__ = [
    "Annotation",
    "StoredResult",
    "annotate_trace",
    "annotated_result_to_json",
    "certificate_relative_to",
    "find_base_folder",
    "result_from_json",
    "result_relative_to",
    "result_to_json",
    "verdict_from_json",
]
