"""How names read: one-word functions, bare participles, public names that are defined more than once.

Run as `python tests/names.py [ROOT]`: the three shares over all packages in src, and what breaks the rules of
CONTRIBUTING.md; exit 1 if a share is above its limit. Functions are those of modules, classes and other
functions; what Python itself calls (`__add__`) and what a `Protocol` or a base class demands is left out.
"""

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

MOST_ONE_WORD, MOST_PARTICIPLES, MOST_TWICE = 0.35, 0.01, 0.05
# Participles that do not end in -ed; verbs that do.
_IRREGULAR = """
begun bent bought bound brought built caught chosen done drawn driven fallen felt forgotten found given gone
grown heard held hidden kept known led left lit lost made meant met said seen sent shown spent spread stood
taken thrown told torn understood won worn wound written
"""
_VERBS = "embed exceed feed need proceed seed speed"
IRREGULAR, NO_PARTICIPLES = frozenset(_IRREGULAR.split()), frozenset(_VERBS.split())


@dataclass
class Names:
    """`functions`: where each is defined and its name; `public`: the modules that define a public name."""

    functions: list[tuple[str, str]] = field(default_factory=list)
    public: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))


def is_one_word(name: str) -> bool:
    return "_" not in name.strip("_")


def is_participle(name: str) -> bool:
    word = name.strip("_").lower()
    regular = word.endswith("ed") and len(word) > 4 and word not in NO_PARTICIPLES
    return is_one_word(name) and (
        regular or (word in IRREGULAR and word not in {"read", "set", "put", "cut"})
    )


def collect_names(root: Path) -> Names:
    found = Names()
    for path in sorted((root / "src").rglob("*.py")):
        where = path.relative_to(root).as_posix()
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for name, line in _functions(tree):
            found.functions.append((f"{where}:{line}", name))
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                found.public[node.name].add(where)
    return found


def _functions(node: ast.AST) -> Iterator[tuple[str, int]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef) and any(_last_name(base) == "Protocol" for base in child.bases):
            continue
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            decorators = {_last_name(d) for d in child.decorator_list}
            if not child.name.startswith("__") and "override" not in decorators:
                yield child.name, child.lineno
        yield from _functions(child)


def _last_name(node: ast.AST) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(value=value) | ast.Call(func=value):
            return _last_name(value)
    return ""


def findings(root: Path) -> list[str]:
    """What makes a share too large; empty if all three are within their limits."""
    names = collect_names(root)
    count = max(1, len(names.functions))
    one_word = [f for f in names.functions if is_one_word(f[1])]
    participles = [f for f in names.functions if is_participle(f[1])]
    twice = {name: places for name, places in names.public.items() if len(places) > 1 and name != "main"}
    shares = (
        ("one-word functions", len(one_word) / count, MOST_ONE_WORD, one_word),
        ("bare participles", len(participles) / count, MOST_PARTICIPLES, participles),
        (
            "public names defined twice",
            len(twice) / max(1, len(names.public)),
            MOST_TWICE,
            [(", ".join(sorted(places)), name) for name, places in sorted(twice.items())],
        ),
    )
    found = []
    for what, share, most, examples in shares:
        print(f"{what}: {share:.1%} (at most {most:.0%})")
        if share > most:
            found += [f"{where}: `{name}`: {what}" for where, name in examples]
    return found


def main() -> int:
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[1]).resolve()
    found = findings(root)
    print("\n".join(found[:200]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
