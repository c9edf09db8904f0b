"""Every sentence that a command, a page or a report can print, from the sources.

``python .ci/sentences.py`` prints them all, each behind its file and line; ``--draw 20`` draws some
at random, for readers who say of each whether it is understood at once. ``--seed`` repeats a draw.

A message is printed whole: rules and remedies stand where they are joined, "name: rule; got ... .
Remedy." What is filled in at run time is shown as "{...}". Docstrings are left out but those of
commands, which are their help. Texts for programs, such as SQL and patterns, are left out by what
they look like, so a few that nobody reads may remain.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parents[1]
SOURCES = HERE / "src" / "warner"
_FEWEST = 3  # words of a sentence
_NO_SENTENCE = re.compile(
    r"\b(SELECT|CREATE|INSERT|DELETE FROM|UPDATE|ALTER|PRAGMA|GROUP BY|FROM|WHERE)\b|</|=>"
    r"|\w=[,)]|hive_partitioning"  # reprs, and SQL
    r"|:not\(|\[hidden\]|^/\w|[<>{}\\|*]{3}|\(\?|^\W*[\w-]+(\.[\w-]+)+\W*$|;\s*\w+-\w+:|^[a-z_ ]+$"
)
_WORD = re.compile(r"[A-Za-z][a-z']+")
_HTML = re.compile(r"<[^<>]*>|\{%.*?%\}|\{#.*?#\}", re.S)
_FILLED = re.compile(r"\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}")
_PAPERS = "_core/references.py"  # titles of papers, which are not ours


class Sentence(NamedTuple):
    """A text that people read, and where it stands."""

    file: str
    line: int
    text: str


def sentences() -> list[Sentence]:
    """All of them, in the order of files and lines."""
    listed: list[Sentence] = []
    for path in sorted(SOURCES.rglob("*.py")):
        name = str(path.relative_to(SOURCES))
        if name == _PAPERS:
            continue
        listed += [Sentence(name, line, text) for line, text in _of_module(path.read_text())]
    for path in sorted(SOURCES.rglob("words/en.json")):
        name = str(path.relative_to(SOURCES))
        listed += [Sentence(name, 0, text) for text in _of_words(json.loads(path.read_text()))]
    listed += [s for path in sorted(SOURCES.rglob("*.html")) for s in _of_page(path)]
    return list({s.text: s for s in reversed(listed)}.values())[::-1]


def _of_words(words: object) -> Iterator[str]:
    if isinstance(words, dict):
        for inner in words.values():
            yield from _of_words(inner)
    elif isinstance(words, list):
        for inner in words:
            yield from _of_words(inner)
    elif isinstance(words, str) and len(_WORD.findall(words)) >= _FEWEST:
        yield words


def _of_page(path: Path) -> Iterator[Sentence]:
    text = re.sub(r"<(script|style).*?</\1>|<!--.*?-->", "", path.read_text(), flags=re.S)
    for piece in re.split(
        r"</?(?:p|li|h\d|td|th|dt|dd|summary|legend|label|button|title)\b[^>]*>", text
    ):
        plain = " ".join(_HTML.sub("", piece).split())
        if "{{" not in plain and len(_WORD.findall(plain)) >= _FEWEST:
            yield Sentence(str(path.relative_to(SOURCES)), 0, plain)


def _of_module(source: str) -> Iterator[tuple[int, str]]:
    tree = ast.parse(source)
    done: set[int] = set()  # nodes whose text stands in a longer one
    _leave_out_docstrings(tree, done)
    found: list[tuple[int, str]] = []
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            if _is_command(function) and (help_text := ast.get_docstring(function)):
                for paragraph in re.split(r"\n\s*\n", help_text.replace("\b\n", "")):
                    if not paragraph.lstrip().startswith(("warner ", ">>>")):
                        found.append((function.lineno, " ".join(paragraph.split())))
            found += _messages(function, done)
    for node in ast.walk(tree):
        if id(node) in done:
            continue
        if isinstance(node, ast.JoinedStr):
            done |= {id(inner) for inner in node.values}
        if isinstance(node, ast.JoinedStr) or (
            isinstance(node, ast.Constant) and isinstance(node.value, str)
        ):
            found.append((node.lineno, _text(node)))
    for line, text in sorted(found):
        plain = " ".join(text.split())
        said = _FILLED.sub("", plain)
        if len(_WORD.findall(said)) >= _FEWEST and not _NO_SENTENCE.search(said):
            yield line, plain


def _is_command(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    calls = [d.func if isinstance(d, ast.Call) else d for d in function.decorator_list]
    return any(isinstance(c, ast.Attribute) and c.attr in ("command", "group") for c in calls)


def _leave_out_docstrings(tree: ast.Module, done: set[int]) -> None:
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(tree):
        body = node.body if isinstance(node, kinds) else []
        done |= {id(s.value) for s in body if isinstance(s, ast.Expr)}


def _messages(
    function: ast.FunctionDef | ast.AsyncFunctionDef, done: set[int]
) -> Iterator[tuple[int, str]]:
    """The texts of rules and remedies of a function, joined as their message joins them."""
    names: dict[str, tuple[int, ast.expr]] = {}
    statements = sorted(
        (n for n in ast.walk(function) if isinstance(n, ast.Assign | ast.Call)),
        key=lambda n: (n.lineno, isinstance(n, ast.Call)),
    )
    for node in statements:
        if isinstance(node, ast.Assign):
            (target, value) = node.targets[0], node.value
            pairs = (
                zip(target.elts, value.elts, strict=False)
                if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
                else [(target, value)]
            )
            for name, text in pairs:
                if isinstance(name, ast.Name) and name.id in ("rule", "remedy"):
                    names[name.id] = (text.lineno, text)
        elif _name(node.func).endswith("Error") or _name(node.func) == "message":
            arguments = [
                names[a.id][1] if isinstance(a, ast.Name) and a.id in names else a
                for a in node.args
            ]
            if len(arguments) >= 2 and not any(id(a) in done for a in arguments):
                done |= {id(inner) for a in arguments for inner in ast.walk(a)}
                parts = [_text(a) for a in arguments] + ["", ""]
                name, rule, got, remedy = parts[:4]
                got = f"; got {got}" if got not in ("", "{None}") else ""
                end = (
                    ""
                    if remedy in ("", "{None}")
                    else f" {remedy}" + "." * (not remedy.endswith("?"))
                )
                yield node.lineno, f"{name or '{name}'}: {rule}{got}.{end}"


def _name(function: ast.expr) -> str:
    return getattr(function, "attr", getattr(function, "id", ""))


def _text(node: ast.expr) -> str:
    """A text as people read it, with what is filled in as "{...}"."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else "{" + repr(node.value) + "}"
    if isinstance(node, ast.JoinedStr):
        return "".join(map(_text, node.values))
    if isinstance(node, ast.FormattedValue):
        return _text(node.value)
    if isinstance(node, ast.IfExp):
        return f"{_text(node.body)} [or: {_text(node.orelse)}]"
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _text(node.left) + _text(node.right)
    return "{" + ast.unparse(node) + "}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--draw", type=int, help="this many at random, in place of all")
    parser.add_argument("--seed", type=int, help="of the draw")
    asked = parser.parse_args()
    listed = sentences()
    if asked.draw:
        listed = random.Random(asked.seed).sample(listed, asked.draw)
    for number, each in enumerate(listed, 1):
        print(f"{number}. {each.file}:{each.line}: {each.text}")


if __name__ == "__main__":
    main()
