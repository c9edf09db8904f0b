"""Every sentence that a command, a page or a report can print, from the sources.

``python .ci/sentences.py`` prints them all, each behind its file and line; ``--draw 20`` draws some
at random, for readers who say of each whether it is understood at once. ``--seed`` repeats a draw.

A message is printed whole: rules and remedies stand where they are joined, "name: rule; got ... .
Remedy.", and a text that is made in pieces stands where the pieces are put together, as far as one
module shows it. What is filled in at run time is shown as "{...}", and a choice as "[a or: b]", of
which a draw takes one at random. What remains of the pieces is marked "(part of a sentence)".
Docstrings are left out but those of commands, which are their help. Texts for programs, such as SQL
and patterns, are left out by what they look like, so a few that nobody reads may remain.
"""

from __future__ import annotations

import argparse
import ast
import gc
import json
import random
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parents[1]
SOURCES = HERE / "src" / "warner"
_FEWEST = 3  # words of a sentence
_NO_SENTENCE = re.compile(
    r"\b(SELECT|CREATE|INSERT|DELETE FROM|UPDATE|ALTER|PRAGMA|GROUP BY|FROM|WHERE)\b|</|=>"
    r"|\w=[,)]|hive_partitioning"  # reprs, and SQL
    r"|^<|^--\S+$|\w\(\w+\.\w|=\(\)|^[a-z_]+ = [\"\[{]"  # pictures, code, headers, studies
    r"|:not\(|\[hidden\]|^/\w|[<>{}\\|*]{3}|\(\?|^\W*[\w-]+(\.[\w-]+)+\W*$|;\s*\w+-\w+:|^[a-z_ ]+$"
    r"|^SET |charset=|^\w+ = \S+$|^@media|^:root|[a-z-]+-src |^\w+( \w+=\S+)+$"  # settings, styles
    r"|\[0-9\]|\w\(CAST\(|^int?eger |^part int"  # patterns
    r"|^[\w.]+\(\S*\) [\w.]+\(|^\w+\(\w+\) \w+$|^\w+\.\w+\(\w+:"  # calls, and lists of their names
    r"|<section|^id: |image/|^Content-Type: |\\\\$| ja oui | nein nie "  # formats, lists of words
)
_WORD = re.compile(r"[A-Za-z][a-z']+")
_HTML = re.compile(r"<[^<>]*>|\{%.*?%\}|\{#.*?#\}", re.S)
_FILLED = re.compile(r"\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}")
_PAPERS = "_core/references.py"  # titles of papers, which are not ours
_NAMES = "_core/names.py"  # its keys are names in other packages and in papers
_LONGEST = 300  # characters of a piece that is shown within a sentence
_MOST_CHOICES = 3  # of texts for one piece
_OPEN, _OR, _SHUT = "\x01", "\x02", "\x03"  # of a choice between texts
_CHOICE = re.compile(f"{_OPEN}([^{_OPEN}{_SHUT}]*){_SHUT}")
_BEFORE_NAME = {"Refused": 1, "Later": 1}  # how many arguments stand before those of a message
_OF_CLICK = ("UsageError", "NoSuchOption")  # their first argument is the whole message
_PART = re.compile(r"^[\W\d]*[,;.)\]]|^[a-z][^:]*$")  # begins within a sentence

Texts = dict[str, list[ast.expr]]  # what a name can stand for


class Sentence(NamedTuple):
    """A text that people read, and where it stands."""

    file: str
    line: int
    text: str

    def shown(self, draw: random.Random | None = None) -> str:
        """The text with its choices, or with one of them drawn."""

        def chosen(choice: re.Match[str]) -> str:
            texts = choice[1].split(_OR)
            if draw:
                return draw.choice([text for text in texts if text.strip()])
            return f"[{' or: '.join(texts)}]"

        text = self.text
        while _CHOICE.search(text):
            text = _CHOICE.sub(chosen, text)
        return " ".join(text.split()) + "  (part of a sentence)" * bool(_PART.search(text))


def sentences() -> list[Sentence]:
    """All of them, in the order of files and lines."""
    gc.disable()  # trees are no garbage, and looking for some takes longer than all the rest
    try:
        return _listed()
    finally:
        gc.enable()


def _listed() -> list[Sentence]:
    listed: list[Sentence] = []
    sources = {str(p.relative_to(SOURCES)): p for p in sorted(SOURCES.rglob("*.py"))}
    trees = {name: ast.parse(p.read_text()) for name, p in sources.items() if name != _PAPERS}
    for node in ast.walk(trees[_NAMES]):  # the tree is changed, so its nodes are not kept
        if isinstance(node, ast.Dict):
            node.keys = []
    shared: Texts = {}  # of all modules: names in capitals
    for tree in trees.values():
        constants = ast.Module([n for n in tree.body if isinstance(n, ast.Assign)], [])
        shared |= {name: n for name, n in _assigned(constants).items() if name.isupper()}
    for name, tree in trees.items():
        listed += [Sentence(name, line, text) for line, text in _of_module(tree, shared)]
    for path in sorted(SOURCES.rglob("words/en.json")):
        name = str(path.relative_to(SOURCES))
        listed += [Sentence(name, 0, text) for text in _of_words(json.loads(path.read_text()))]
    listed += [s for path in sorted(SOURCES.rglob("*.html")) for s in _of_page(path)]
    return list({s.text: s for s in reversed(listed)}.values())[::-1]


@cache
def _nodes(of: ast.AST) -> list[ast.AST]:
    """What ast.walk() gives, once for each node that is asked about, without what is no text."""
    listed = [of]
    for node in listed:  # grows while it is read
        for field in node._fields:
            value = getattr(node, field, None)
            if isinstance(value, list):
                listed += [inner for inner in value if isinstance(inner, ast.AST)]
            elif isinstance(value, ast.AST) and not isinstance(value, ast.expr_context):
                listed.append(value)
    return listed


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


def _of_module(tree: ast.Module, shared: Texts) -> Iterator[tuple[int, str]]:
    done: set[int] = set()  # nodes whose text stands in a longer one
    _leave_out_docstrings(tree, done)
    found: list[tuple[int, str]] = []
    functions = [n for n in _nodes(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    known = shared | {f.name: texts for f in functions if (texts := _returned(f))}
    for function in functions:
        if _is_command(function) and (help_text := ast.get_docstring(function)):
            for paragraph in re.split(r"\n\s*\n", help_text.replace("\b\n", "")):
                if not paragraph.lstrip().startswith(("warner ", ">>>")):
                    found.append((function.lineno, " ".join(paragraph.split())))
        reader = _Reader(known | _assigned(function), done)
        found += _messages(function, reader)
        found += _whole_texts(function, reader)
    found += _whole_texts(tree, _Reader(known, done))
    for line, text in sorted(found):
        plain = " ".join(text.split())
        said = _FILLED.sub("", plain)
        words = len(_WORD.findall(said)) if " " in said else 0
        if words >= _FEWEST and not _NO_SENTENCE.search(said):
            yield line, plain


def _whole_texts(of: ast.AST, reader: _Reader) -> list[tuple[int, str]]:
    """The texts that stand in no other, those that are made of others first."""
    nodes = [n for n in _nodes(of) if isinstance(n, ast.expr) and _is_text(n)]
    texts = [(node, reader.text(node)) for node in nodes if id(node) not in reader.done]
    whole = [(node, text) for node, text in texts if id(node) not in reader.done]
    reader.done |= {id(node) for node, _ in whole}
    keys = _keys(of)
    return [(node.lineno, _behind(keys.get(id(node)), text)) for node, text in whole]


def _behind(key: str | None, text: str) -> str:
    """A part of a sentence behind the key that it explains."""
    explains = _PART.search(text) and len(_WORD.findall(text)) >= _FEWEST
    return f"{key}: {text}" if key and explains and not _NO_SENTENCE.search(text) else text


def _keys(of: ast.AST) -> dict[int, str]:
    """The key of each text that stands in a dict, or is an argument of what stands there."""
    keys: dict[int, str] = {}
    for node in _nodes(of):
        pairs = zip(node.keys, node.values, strict=False) if isinstance(node, ast.Dict) else ()
        for key, value in pairs:
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                texts = [value, *value.args] if isinstance(value, ast.Call) else [value]
                keys |= {id(text): key.value for text in texts}
    return keys


def _is_text(node: ast.AST | None) -> bool:
    if isinstance(node, ast.IfExp):
        return _is_text(node.body) and _is_text(node.orelse)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _is_text(node.left) or _is_text(node.right)
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def _assigned(function: ast.AST) -> Texts:
    """The local names that stand for nothing but texts."""
    named: Texts = {}
    for node in _nodes(function):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            named.setdefault(node.targets[0].id, []).append(node.value)
    return {name: texts for name, texts in named.items() if all(map(_is_text, texts))}


def _returned(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.expr]:
    """The texts that a function returns, if it returns nothing else."""
    returns = [n.value for n in _nodes(function) if isinstance(n, ast.Return)]
    return [n for n in returns if n is not None] if all(map(_is_text, returns)) else []


def _is_command(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    calls = [d.func if isinstance(d, ast.Call) else d for d in function.decorator_list]
    return any(isinstance(c, ast.Attribute) and c.attr in ("command", "group") for c in calls)


def _leave_out_docstrings(tree: ast.Module, done: set[int]) -> None:
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in _nodes(tree):
        body = node.body if isinstance(node, kinds) else []
        done |= {id(s.value) for s in body if isinstance(s, ast.Expr)}


def _messages(
    function: ast.FunctionDef | ast.AsyncFunctionDef, reader: _Reader
) -> Iterator[tuple[int, str]]:
    """The texts of rules and remedies of a function, joined as their message joins them."""
    names: dict[str, list[ast.expr]] = {}  # the texts that stand for a rule or a remedy
    used: set[str] = set()
    statements = sorted(
        (n for n in _nodes(function) if isinstance(n, ast.Assign | ast.Call)),
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
                    whole = _with_texts(text, names)
                    if name.id in used or whole is not text:  # what stood before is said
                        used.discard(name.id)
                        names[name.id] = []
                    names.setdefault(name.id, []).append(whole)
        elif _is_message(node):
            is_unknown = _name(node.func) == "unknown"
            given = node.args[_BEFORE_NAME.get(_name(node.func), 0) :]
            listed = [
                names.get(a.id, [a]) if isinstance(a, ast.Name) else [_with_texts(a, names)]
                for a in given
            ]
            used |= {n.id for a in given for n in ast.walk(a) if isinstance(n, ast.Name)}
            several = {len(texts) for texts in listed} - {1}
            if len(several) > 1:  # nobody knows which belong together
                listed, several = [texts[-1:] for texts in listed], set()
            for i in range(max(several, default=1)):
                arguments = [texts[i if len(texts) > 1 else 0] for texts in listed]
                if len(arguments) >= 2 and (i or not any(id(a) in reader.done for a in arguments)):
                    parts = [reader.text(a) for a in arguments]
                    yield node.lineno, _joined(_unknown(parts) if is_unknown else parts)
                    reader.done |= {id(inner) for a in arguments for inner in ast.walk(a)}


def _unknown(parts: list[str]) -> list[str]:
    """The parts of the message of checks.unknown(), as it makes them."""
    name, given, allowed, what, remedy = [*parts, "", ""][:5]
    return [name, f"must be one of {what} {allowed}", given, remedy or "Is '{near}' meant?"]


def _with_texts(text: ast.expr, names: dict[str, list[ast.expr]]) -> ast.expr:
    """A text in which the last text of a rule or a remedy stands in place of its name."""
    if not isinstance(text, ast.JoinedStr):
        return text
    values = [
        ast.FormattedValue(names[piece.value.id][-1], -1)
        if isinstance(piece, ast.FormattedValue)
        and isinstance(piece.value, ast.Name)
        and names.get(piece.value.id)
        else piece
        for piece in text.values
    ]
    return text if values == text.values else ast.JoinedStr(values)


def _joined(parts: list[str]) -> str:
    """The message of a name, a rule, what was given and a remedy, of which the last may lack."""
    name, rule, got, remedy = [*parts, "", ""][:4]
    got = f"; got {got}" if got else ""
    end = "" if not remedy else f" {remedy}" + "." * (not remedy.endswith("?"))
    return f"{name or '{name}'}: {rule}{got}.{end}"


def _is_message(call: ast.Call) -> bool:
    """Whether it has a name, a rule, what was given and a remedy, in this order."""
    name = _name(call.func)
    is_ours = name.endswith("Error") and name not in _OF_CLICK
    return is_ours or name in ("message", "broken", "add", "unknown", *_BEFORE_NAME)


def _name(function: ast.AST) -> str:
    return getattr(function, "attr", getattr(function, "id", ""))


class _Reader:
    """Reads texts as people do, with the texts that names and functions stand for."""

    def __init__(self, texts: Texts, done: set[int]) -> None:
        self.texts = texts
        self.done = done
        self._within: list[str] = []  # names that are being read

    def text(self, node: ast.expr) -> str:
        """A text, with what is filled in as "{...}"; its pieces are done."""
        if isinstance(node, ast.Constant):
            if node.value is None:
                return ""
            return node.value if isinstance(node.value, str) else "{" + repr(node.value) + "}"
        if isinstance(node, ast.JoinedStr):
            return "".join(map(self._piece, node.values))
        if isinstance(node, ast.FormattedValue):
            return self._piece(node.value)
        if isinstance(node, ast.IfExp):
            return f"{_OPEN}{self._piece(node.body)}{_OR}{self._piece(node.orelse)}{_SHUT}"
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return self._piece(node.left) + self._piece(node.right)
        if isinstance(node, ast.Tuple):  # the way to an entry of a file
            return ".".join(map(self._piece, node.elts))
        name = _name(node.func) if isinstance(node, ast.Call) else _name(node)
        if name == "meant":
            return "Is '{near}' meant?"
        if name not in self._within and 0 < len(self.texts.get(name, [])) <= _MOST_CHOICES:
            self._within.append(name)
            texts = [_Reader(self.texts, set())._named(n, self._within) for n in self.texts[name]]
            self._within.pop()
            if sum(map(len, texts)) <= _LONGEST:
                self.done |= {id(i) for n in self.texts[name] for i in ast.walk(n)}
                return texts[0] if len(texts) == 1 else f"{_OPEN}{_OR.join(texts)}{_SHUT}"
        return "{" + _noun(node) + "}"

    def _named(self, node: ast.expr, within: list[str]) -> str:
        self._within = within
        return self.text(node)

    def _piece(self, node: ast.expr) -> str:
        self.done.add(id(node))
        return self.text(node)


def _noun(node: ast.expr) -> str:
    """What an expression is about: its last name that is neither called nor an owner of one."""
    if isinstance(node, ast.Call) and _name(node.func) == "len":
        return f"number of {_noun(node.args[0])}"
    nodes = list(ast.walk(node))
    called = {id(n.func) for n in nodes if isinstance(n, ast.Call)}
    owners = {id(n.value) for n in nodes if isinstance(n, ast.Attribute) and id(n) not in called}
    names = [_name(n) for n in nodes if id(n) not in called | owners]
    return next((name for name in reversed(names) if name), ast.unparse(node)).strip("_")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--draw", type=int, help="this many at random, in place of all")
    parser.add_argument("--seed", type=int, help="of the draw")
    asked = parser.parse_args()
    listed = sentences()
    draw = random.Random(asked.seed) if asked.draw else None
    if draw:
        listed = draw.sample(listed, asked.draw)
    for number, each in enumerate(listed, 1):
        print(f"{number}. {each.file}:{each.line}: {each.shown(draw)}")


if __name__ == "__main__":
    main()
