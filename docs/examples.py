"""Run the examples of a document, and compare or write the output that stands below them.

A document's blocks are run in their order, in one folder of their own:

    ```toml      whose first line is "# NAME" is written to the file NAME
    ```text NAME is written to the file NAME
    ```python    whose first line is "# NAME.py" is written to the file NAME.py, which can be imported
    ```python    otherwise is run; the ```text block right below it, where there is one, is what it prints
    ```console   holds commands, each after "$ ", and below each what it prints

A table that stands beside a page of docs/guides, to which the page links, is in the folder too.
``python docs/examples.py FILE ...`` writes the outputs as they are now into the documents. A test
compares them: words must be equal, numbers equal up to two units of their last digit.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from unittest import mock

from click.testing import CliRunner

from warner._core.progress import Lines
from warner.app.cli import main
from warner.results.recommend import for_a_while

_BLOCK = re.compile(
    r"```(?P<kind>python|console|toml|text (?P<file>[\w.-]+))\n(?P<body>.*?)```(?P<gap>\n+)?"
    r"(?P<text>(?<=\n)```text\n(?P<output>.*?)```)?",
    re.DOTALL,
)
_GUIDES = Path(__file__).parent / "guides"
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*(?:e[-+]?\d+)?")


def executed(document: str) -> str:
    """The document with the outputs that its examples have now."""
    space: dict[str, object] = {"__name__": "__main__"}

    def run(match: re.Match[str]) -> str:
        kind, body = match["kind"], match["body"]
        first = body.partition("\n")[0]
        named = re.fullmatch(r"# ([\w.-]+\.(?:toml|py))", first)
        file = match["file"] or (named and named[1])
        if file:
            Path(file).write_text(body)
        if file or kind == "toml":
            return match[0]
        if kind == "console":
            return f"```console\n{_console(body)}```" + (match["gap"] or "")
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(body, "example", "exec"), space)
        if match["text"] is None:
            return match[0]
        return match[0].replace(match["text"], f"```text\n{_plain(printed.getvalue())}```")

    before = Path.cwd()
    modules = set(sys.modules)
    # What a document registers is forgotten after it.
    with tempfile.TemporaryDirectory() as folder, for_a_while():
        for table in re.findall(r"\]\(([\w-]+\.csv)\)", document):
            shutil.copy(_GUIDES / table, folder)
        os.chdir(folder)
        sys.path.insert(0, folder)
        try:
            return _BLOCK.sub(run, document)
        finally:
            os.chdir(before)
            sys.path.remove(folder)
            for name in set(sys.modules) - modules:
                if str(getattr(sys.modules[name], "__file__", None)).startswith(folder):
                    del sys.modules[name]


def _console(body: str) -> str:
    """The commands of a block, each with what it prints, errors included."""
    commands = re.findall(r"^\$ (.*)$", body, flags=re.MULTILINE)
    return "".join(f"$ {command}\n{_plain(_output(command))}" for command in commands)


def _output(command: str) -> str:
    words = shlex.split(command, comments=True)
    if words[0] == "warner":
        # Whole lines, whatever width the caller's terminal states; and no progress, which only
        # slow machines print.
        with mock.patch.object(Lines, "__call__", lambda lines, stages: None):
            return CliRunner(env={"COLUMNS": None}).invoke(main, words[1:]).output
    shell = command.replace("python ", f"{shlex.quote(sys.executable)} ", 1)
    return subprocess.run(shell, shell=True, check=True, capture_output=True, text=True).stdout


def _plain(text: str) -> str:
    """Printed text without blank ends of lines and without blank first and last lines."""
    lines = [line.rstrip() for line in text.splitlines()]
    while lines and not lines[0]:
        del lines[0]
    while lines and not lines[-1]:
        del lines[-1]
    return "".join(line + "\n" for line in lines)


def differences(written: str, current: str) -> list[str]:
    """The lines of two documents that differ by more than the last digits of their numbers."""
    pairs = zip(written.splitlines(), current.splitlines(), strict=False)
    wrong = [f"- {a}\n+ {b}" for a, b in pairs if not _alike(a, b)]
    if len(written.splitlines()) != len(current.splitlines()):
        wrong.append("the documents have different numbers of lines")
    return wrong


def _alike(first: str, second: str) -> bool:
    words = [" ".join(_NUMBER.sub("#", line).split()) for line in (first, second)]
    numbers = [_NUMBER.findall(line) for line in (first, second)]
    return words[0] == words[1] and all(map(_close, *numbers))


def _close(first: str, second: str) -> bool:
    """Whether two numbers differ by at most two units of the last digit that is printed."""
    if first == second or ("." not in first and "e" not in first):
        return first == second
    a, b = (float(number.replace(",", "")) for number in (first, second))
    digits, _, power = first.partition("e")
    unit = 10.0 ** (int(power or 0) - len(digits.partition(".")[2]))
    return abs(a - b) <= 2.001 * unit


if __name__ == "__main__":
    for name in sys.argv[1:]:
        path = Path(name).resolve()
        path.write_text(executed(path.read_text()))
