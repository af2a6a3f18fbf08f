"""Results as JSON, complete and exact; `docs/reference/result-json.md` describes every key."""

from surefoot.formats.result_json.read import Annotation, StoredResult, from_json, verdict_from
from surefoot.formats.result_json.write import annotate, result_to_json, to_json

__all__ = ["Annotation", "StoredResult", "annotate", "from_json", "result_to_json", "to_json", "verdict_from"]
