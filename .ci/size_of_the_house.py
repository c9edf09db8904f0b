"""The size of the package: lines, statements, files, functions, docstrings and comments.

A documented name is exported by a public package, or is a command, whose docstring is its help, or
a class that an exported function or a method of a documented class returns, or a base of such a
class. All other functions and methods are internal, and one sentence is enough for them.
``--internal`` lists the longest docstrings of internal functions. ``--root`` measures another
checkout.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
# What the stub of warner has beside the names at the top: public packages, and rooms.
PACKAGES = {"design", "metrics", "results", "spark"}
ROOMS = {"channels", "regression", "reports", "studies"}
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class Module:
    """One file: its text, its syntax tree and the names that it exports."""

    path: Path
    text: str
    tree: ast.Module = field(init=False)

    def __post_init__(self) -> None:
        self.tree = ast.parse(self.text)

    def exports(self) -> set[str]:
        """The names in ``__all__`` or in the stub beside it, or else all public ones."""
        stub = self.path.with_suffix(".pyi")
        if stub != self.path and stub.exists():
            return Module(stub, stub.read_text()).exports()
        for node in self.tree.body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
                return set(ast.literal_eval(node.value))
        names = {
            a.asname or a.name
            for node in self.tree.body
            if isinstance(node, ast.ImportFrom)
            for a in node.names
        }
        return {name for name in names if not name.startswith("_")}

    def code_and_comments(self) -> tuple[int, int]:
        """The numbers of lines with code, and of lines with comments."""
        code, comments = set(), set()
        ignored = (
            tokenize.NL,
            tokenize.NEWLINE,
            tokenize.INDENT,
            tokenize.DEDENT,
            tokenize.ENCODING,
        )
        for token in tokenize.generate_tokens(io.StringIO(self.text).readline):
            if token.type == tokenize.COMMENT:
                comments.add(token.start[0])
            elif token.type not in (*ignored, tokenize.ENDMARKER):
                code.update(range(token.start[0], token.end[0] + 1))
        for node in ast.walk(self.tree):
            doc = docstring_of(node)
            if doc is not None:
                code.difference_update(range(doc.lineno, (doc.end_lineno or doc.lineno) + 1))
        return len(code), len(comments)


def docstring_of(node: ast.AST) -> ast.Expr | None:
    """The statement that is the docstring of a module, class or function."""
    if isinstance(node, ast.Module | ast.ClassDef | Function) and node.body:
        first = node.body[0]
        if (
            isinstance(first, ast.Expr)
            and isinstance(first.value, ast.Constant)
            and isinstance(first.value.value, str)
        ):
            return first
    return None


def lines_of(node: ast.Expr | None) -> int:
    """The number of lines of a docstring."""
    return 0 if node is None else (node.end_lineno or node.lineno) - node.lineno + 1


def modules_of(root: Path) -> list[Module]:
    """All modules of the package in a checkout."""
    return [
        Module(path, path.read_text()) for path in sorted((root / "src" / "warner").rglob("*.py"))
    ]


def documented_classes(modules: list[Module], root: Path) -> tuple[set[str], set[str]]:
    """The names of documented classes, and of exported functions."""
    classes: dict[str, list[ast.ClassDef]] = {}
    functions: dict[str, list[Function]] = {}
    for module in modules:
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef):
                classes.setdefault(node.name, []).append(node)
            elif isinstance(node, Function):
                functions.setdefault(node.name, []).append(node)
    of_path = {module.path: module for module in modules}
    top = root / "src" / "warner"
    names = of_path[top / "__init__.py"].exports() - ROOMS
    for room in sorted({*names, "estimators/literature"}):
        home = of_path.get(top / room / "__init__.py") or of_path.get(top / f"{room}.py")
        names = names | (home.exports() if home is not None else set())
    documented: set[str] = set()
    waiting = [name for name in names if name in classes]
    for name in names & set(functions):
        waiting += [c for node in functions[name] for c in classes_in(node.returns, classes)]
    while waiting:
        name = waiting.pop()
        if name in documented:
            continue
        documented.add(name)
        for node in classes[name]:
            for base in node.bases:
                waiting += classes_in(base, classes)
            for method in node.body:
                if isinstance(method, Function) and not method.name.startswith("_"):
                    waiting += classes_in(method.returns, classes)
    return documented, names & set(functions)


def classes_in(annotation: ast.expr | None, classes: dict[str, list[ast.ClassDef]]) -> list[str]:
    """The public classes of the package that an annotation names."""
    words = re.findall(r"\w+", ast.unparse(annotation)) if annotation is not None else []
    return [word for word in words if word in classes and not word.startswith("_")]


def internal_nodes(
    module: Module, documented: set[str], exported: set[str]
) -> Iterator[ast.ClassDef | Function]:
    """The classes and functions that are internal."""

    def within(body: list[ast.stmt], is_documented: bool) -> Iterator[ast.ClassDef | Function]:
        for node in body:
            if isinstance(node, ast.ClassDef):
                public = node.name in documented
                if not public:
                    yield node
                yield from within(node.body, public)
            elif isinstance(node, Function):
                if any("command" in ast.unparse(d) for d in node.decorator_list):
                    continue  # its docstring is the help of a command
                special = node.name.startswith("_") and node.name != "__init__"
                if not is_documented or special:
                    yield node
                yield from within(node.body, False)
            elif isinstance(node, ast.If | ast.Try):
                yield from within(node.body, is_documented)

    for node in within(module.tree.body, False):
        if not (isinstance(node, Function) and node in module.tree.body and node.name in exported):
            yield node


def loaded_modules(root: Path, code: str) -> int:
    """How many modules of the package a program loads."""
    program = f"{code}\nimport sys\nprint(sum(n.split('.')[0] == 'warner' for n in sys.modules))"
    run = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(root / "src"), "PATH": "/usr/bin:/bin"},
    )
    return int(run.stdout.split()[-1])


NOTEBOOK = """
import warner
smoking = warner.RandomizedResponse(warner.Categorical(["yes", "no", "no answer"]), 1.0)
print(warner.estimate(smoking.tally(smoking.randomize(["yes", "no"] * 50))))
"""
COMMAND = """
import warner.app.cli
from click.testing import CliRunner
CliRunner().invoke(warner.app.cli.main, ["estimate", "--help"])
"""


def main() -> None:
    """The table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=HERE)
    parser.add_argument("--internal", type=int, default=0, metavar="N")
    arguments = parser.parse_args()
    modules = modules_of(arguments.root)
    documented, exported = documented_classes(modules, arguments.root)
    nodes = [node for module in modules for node in ast.walk(module.tree)]
    both = [module.code_and_comments() for module in modules]
    code, comments = (sum(column) for column in zip(*both, strict=True))
    internal = [
        (lines_of(docstring_of(node)), module.path.relative_to(arguments.root), node.name)
        for module in modules
        for node in internal_nodes(module, documented, exported)
    ]
    tests = arguments.root / "tests"
    figures = {
        "lines": sum(module.text.count("\n") for module in modules),
        "statements": sum(isinstance(node, ast.stmt) for node in nodes),
        "files": len(modules),
        "functions": sum(isinstance(node, Function) for node in nodes),
        "lines of docstrings": sum(lines_of(docstring_of(node)) for node in nodes),
        "  of internal names": sum(lines for lines, _, _ in internal),
        "comments per line of code": f"{comments / code:.1%}",
        "names at the top": len(modules[0].exports() - PACKAGES - ROOMS),
        "lines of tests": sum(p.read_text().count("\n") for p in tests.rglob("*.py")),
        "modules for three shares": loaded_modules(arguments.root, NOTEBOOK),
        "modules for warner estimate": loaded_modules(arguments.root, COMMAND),
    }
    for name, figure in figures.items():
        print(f"{name:<28} {figure:>9,}" if isinstance(figure, int) else f"{name:<28} {figure:>9}")
    for lines, path, name in sorted(internal, reverse=True)[: arguments.internal]:
        print(f"{lines:>5} {path}: {name}")


if __name__ == "__main__":
    main()
