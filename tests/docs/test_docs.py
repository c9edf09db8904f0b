"""The manual breaks the build: docstring examples, README and command table are executed."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import inspect
import pkgutil
import re
from pathlib import Path
from types import ModuleType

import pytest

import warner
from warner.results.recommend import for_a_while
from warner.results.result_files import COLUMNS
from warner.studies.schema import (
    ASK,
    ATTRIBUTE,
    COLLECT,
    GROUP,
    JOINT,
    MECHANISMS,
    PUBLIC,
    REPEAT,
    STUDY,
)

ROOT = Path(__file__).parents[2]


def _script(name: str) -> ModuleType:
    """A script of the documents, as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_SCRIPTS = ("examples", "make_cli", "make_data", "make_names")
examples, make_cli, make_data, make_names = map(_script, _SCRIPTS)
MODULES = ["warner", *(m.name for m in pkgutil.walk_packages(warner.__path__, "warner."))]


def _source(name: str) -> str:
    found = importlib.util.find_spec(name)
    assert found is not None and found.origin is not None
    return Path(found.origin).read_text()


def test_every_module_has_a_docstring() -> None:
    assert [name for name in MODULES if not re.match(r'r?"""\S', _source(name))] == []


@pytest.mark.parametrize("name", [name for name in MODULES if ">>>" in _source(name)])
def test_docstring_examples_run(name: str) -> None:
    module = importlib.import_module(name)
    failed, _ = doctest.testmod(
        module,
        extraglobs={"np": __import__("numpy"), "warner": warner},
        optionflags=doctest.ELLIPSIS,
    )
    assert failed == 0


PACKAGES_OF_CLASSES = ("domains", "mechanisms", "privacy", "estimators", "design", "results")


def test_public_classes_show_an_example() -> None:
    shown = [warner, *(getattr(warner, name) for name in PACKAGES_OF_CLASSES)]
    classes = {
        n: getattr(home, n)
        for home in shown
        for n in home.__all__
        if inspect.isclass(getattr(home, n))
    }
    without = {n for n in classes if ">>>" not in (inspect.getdoc(classes[n]) or "")}
    # Abstract, or made by a function that shows it.
    assert without <= {
        "Domain",
        "Estimator",
        "Mechanism",
        "Raster",
        "Status",
        "StudyEntry",
        "TextForm",
        "WarnerError",
    }, without


def test_readme_examples_print_what_is_written() -> None:
    text = (ROOT / "README.md").read_text()
    assert text.count("```text") >= 1 and text.count("```console") >= 1
    assert examples.differences(text, examples.executed(text)) == [], "run 'make docs'"


@pytest.mark.parametrize(
    "name",
    [
        *("study_of_groups", "first_study", "extending", "device_programs", "papers/errata"),
        *("guides/classroom", "guides/coming_from_rrreg", "guides/unknown_words"),
        *("guides/coming_from_others", "guides/errors", "guides/lesson", "which_door"),
    ],
)
def test_a_page_prints_what_is_written(name: str) -> None:
    text = (ROOT / "docs" / f"{name}.md").read_text()
    with for_a_while():  # what a page registers is of this page alone
        assert examples.differences(text, examples.executed(text)) == [], "run 'make docs'"


def test_a_wrong_output_is_found() -> None:
    text = "```python\nprint('share', 0.25)\n```\n\n```text\nshare 0.28\n```\n"
    assert examples.differences(text, examples.executed(text))
    assert examples.differences(text.replace("share 0", "shape 0"), examples.executed(text))
    close = text.replace("0.28", "0.26")
    assert not examples.differences(close, examples.executed(close))


def test_readme_is_short() -> None:
    """At most 110 lines and 700 words outside of code, and code within the first 30 lines."""
    lines = (ROOT / "README.md").read_text().splitlines()
    assert len(lines) <= 110
    first = next(i for i, line in enumerate(lines) if line.startswith("```python"))
    assert first <= 30
    prose = re.sub(r"```.*?```", "", "\n".join(lines), flags=re.S)
    assert len(prose.split()) <= 700
    assert max(len(line) for line in prose.splitlines() if not line.startswith("|")) <= 120


@pytest.mark.parametrize("page", ["README.md", "docs/index.md", "docs/which_door.md"])
def test_the_first_command_installs_what_the_guides_write(page: str) -> None:
    """Rejects an installation without typst, with which the first PDF of a guide fails."""
    written = re.findall(r'pip install "[.]\[(.*)\]"', (ROOT / page).read_text())
    assert written
    for extras in written:
        assert {"excel", "plot", "report", "serve"} <= {*extras.split(",")}


def test_the_study_of_every_mechanism_has_every_mechanism() -> None:
    study = warner.Study.load(ROOT / "docs" / "every_mechanism.toml")
    found = {type(m).__name__ for m in study.mechanisms.values()}
    assert found - {"Repeated", "WithNonresponse"} == set(MECHANISMS)
    assert all(warner.audit(m).holds for m in study.mechanisms.values())


def test_the_page_of_study_files_shows_every_key() -> None:
    texts = [(ROOT / "docs" / f).read_text() for f in ("every_key.toml", "study_files.md")]
    assert warner.Study.parse(texts[0]).groups
    for table in (STUDY, ATTRIBUTE, ASK, REPEAT, GROUP, JOINT, PUBLIC, COLLECT):
        assert [key for key in table.keys if key not in "\n".join(texts)] == [], table.name


def test_the_page_of_columns_has_every_column_of_a_result() -> None:
    text = (ROOT / "docs" / "result_columns.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| (.+) \|$", text, flags=re.M)
    assert rows == list(COLUMNS.items())


def test_the_study_in_two_languages_can_be_read() -> None:
    study = warner.Study.load(ROOT / "docs" / "collect.toml")
    assert study.title == "Gewohnheiten" and study.titles["en"] == "Habits"
    assert study.texts.answers("tested", "de") == ("nein", "ja")
    assert study.collect.access == "invited" and study.collect.closes is not None


def test_references_are_numbered_and_used() -> None:
    is_enumerable = set(
        re.findall(r"^\[(\w+)\] ", (ROOT / "docs" / "references.md").read_text(), flags=re.M)
    )
    used = {
        m for p in (ROOT / "src").rglob("*.py") for m in re.findall(r"\[(P\d)[ \]]", p.read_text())
    }
    assert used <= is_enumerable


def test_the_manual_is_current() -> None:
    assert (ROOT / "docs" / "cli.md").read_text() == make_cli.manual(), "run 'make docs'"


def test_the_page_of_names_is_current() -> None:
    assert (ROOT / "docs" / "names.md").read_text() == make_names.page(), "run 'make docs'"


def test_the_page_of_the_data_sets_is_current() -> None:
    assert (ROOT / "docs" / "papers" / "data.md").read_text() == make_data.page(), "run 'make docs'"


def test_windows_has_a_form_for_all_that_pages_write_for_a_shell() -> None:
    """Rejects a command of a page that a reader with Windows types, and no page says the other."""
    folders = ("", "guides", "recipes", "concepts")
    pages = [path for folder in folders for path in (ROOT / "docs" / folder).glob("*.md")]
    typed: set[str] = set()
    for path in pages:
        if path.name == "running.md":  # of a server with Linux
            continue
        for kind, body in re.findall(r"```(console|bash|sh)\n(.*?)```", path.read_text(), re.S):
            lines = body.splitlines()
            typed |= {
                line.removeprefix("$ ").split()[0]
                for line in lines
                if line.startswith("$ ") or (kind != "console" and line[:1].strip(" #"))
            }
    windows = (ROOT / "docs" / "which_door.md").read_text().partition("## On Windows")[2]
    assert typed >= {"warner", "pip"}
    assert all(f"`{word}" in windows for word in typed - {"pip"}), typed
