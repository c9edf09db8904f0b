"""One list of references: the documents, the BibTeX and the docstrings agree."""

from __future__ import annotations

import importlib.util
import inspect
import re
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import warner
from warner._core.references import PAPERS, SOFTWARE, bibtex_of, references
from warner.estimators import Estimator, literature
from warner.mechanisms import MECHANISMS

ROOT = Path(__file__).parents[2]
ESTIMATORS = [
    getattr(home, name)
    for home in (warner.estimators, literature)
    for name in home.__all__
    if inspect.isclass(getattr(home, name)) and getattr(home, name) is not Estimator
]
CITING: list[Any] = [
    *(cls for cls in MECHANISMS.values() if cls.__module__.startswith("warner.")),
    warner.mechanisms.PersonalizedULDP,
    *(cls for cls in ESTIMATORS if issubclass(cls, Estimator)),
]


def _page() -> ModuleType:
    spec = importlib.util.spec_from_file_location("refs", ROOT / "docs" / "make_references.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_of_references_is_current() -> None:
    assert (ROOT / "docs" / "references.md").read_text() == _page().page(), "run 'make docs'"


def test_a_paper_stands_once_in_the_list() -> None:
    """Rejects a second entry of one key, which moves the first to another heading."""
    text = (ROOT / "src" / "warner" / "_core" / "references.bib").read_text()
    keys = re.findall(r"^@\w+\{(\w+),", text, flags=re.M)
    assert len(keys) == len(set(keys)) == len(references())


def test_enough_classes_are_looked_at() -> None:
    assert len(CITING) >= 38


@pytest.mark.parametrize("cls", CITING, ids=lambda cls: cls.__name__)
def test_every_mechanism_and_every_estimator_names_its_sources(cls: Any) -> None:
    assert cls.references and set(cls.references) <= set(references())
    assert "references" in vars(cls)  # its own, not those of a base
    doc = inspect.getdoc(cls) or ""
    stated = doc[doc.index("Source:") :].split("\n\n")[0] if "Source:" in doc else ""
    assert set(re.findall(r"\[(P\d)", stated)) <= set(cls.references)
    years = set(re.findall(r"\((\d{4})\)", stated))
    assert years <= {str(references()[key].year) for key in cls.references}


def test_bibtex_can_be_read() -> None:
    text = bibtex_of(references())
    entries = re.findall(r"@(\w+)\{([\w-]+),\n((?:  \w+ = \{.*\},\n)+)\}", text)
    keys = [key for _, key, _ in entries]
    assert len(entries) == len(references()) + 1 == text.count("@") and len(set(keys)) == len(keys)
    assert text.count("{") == text.count("}") and "\\&" in text
    assert all("title = {{" in body and "author = {" in body for _, _, body in entries)
    assert bibtex_of(["@misc{own,\n}", "P1", "P1"]).count("@") == 3
    without_year = [
        body for _, key, body in entries if "  year = {" not in body and key != "warner"
    ]
    assert all("howpublished = {Manuscript without a date}" in body for body in without_year)


def test_no_two_entries_have_one_key() -> None:
    """Rejects a paper of the package beside an entry of a user that has its key."""
    (paper,) = re.findall(r"@article\{warner1965,.*?\n\}", bibtex_of(["warner1965"]), re.S)
    same = "@Article{Warner1965, title={Randomized response: a survey technique for\n"
    same += "  eliminating evasive answer bias}}"
    assert bibtex_of(["warner1965", same]).startswith(same)
    other = "@misc{warner1965,\n  title = {Another one},\n}"
    for order in (["warner1965", other], [other, "warner1965"]):
        text = bibtex_of(order)
        assert other in text and paper.replace("{warner1965,", "{warner1965x,") in text
        assert "% Not warner1965, which is the key of another entry:\n@article{warner1965x" in text
        keys = re.findall(r"@\w+\{([^,]*),", text)
        assert len(keys) == len(set(keys)) == 3


@pytest.mark.parametrize(
    ("estimator", "cited"),
    [
        (warner.Inversion(), {"wang2017", "murakami2018"}),
        (warner.Inversion("project"), {"kairouz2016", "wang2020", "wang2017"}),
        (warner.Inversion("norm-cut"), {"wang2020", "wang2017"}),
        (warner.Inversion("threshold"), {"murakami2019", "wang2017"}),
        (
            warner.Inversion("threshold", rest="discard"),
            {"murakami2019", "wang2017", "wang2020"},
        ),
        (warner.Inversion("norm-cut", weights="equal"), {"wang2020", "wang2017", "murakami2018"}),
        (
            warner.ExpectationMaximization(100),
            {"agrawal2001", "elsalamouny2019", "murakami2018", "murakami2019"},
        ),
    ],
    ids=lambda one: repr(sorted(one) if isinstance(one, set) else one),
)
def test_the_sources_of_a_method_follow_its_options(estimator: Any, cited: set[str]) -> None:
    """Rejects one list for all options, which cites papers that do not have the method."""
    assert set(re.findall(r"@\w+\{([\w-]+),", estimator.bibtex())) == cited | {"warner"}
    assert set(estimator.sources) <= set(estimator.references)
    leaping = warner.ExpectationMaximization("auto")
    assert "sommeijer1998" in leaping.bibtex() and "agrawal2001" in leaping.bibtex()


def test_a_combination_names_the_sources_of_its_parts() -> None:
    domain = warner.Categorical(["a", "b", "c"])
    each = warner.PerAttribute(
        warner.Product(x=domain, y=domain),
        {"x": warner.SubsetSelection(domain, 1.0), "y": warner.RandomizedResponse(domain, 1.0)},
    )
    found = each.bibtex()
    assert all(name in found for name in ("kikuchi", "ye2018", "warner1965"))
    assert found.count("@software{warner,") == 1


def test_the_citation_file_is_that_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    text = (ROOT / "CITATION.cff").read_text()
    lines = dict(re.findall(r'^([\w-]+): "?(.*?)"?$', text, flags=re.M))
    assert lines["version"] == project["version"] == warner.__version__
    assert lines["license"] == project["license"] and lines["title"] == SOFTWARE.title
    assert lines["cff-version"] == "1.2.0"
    assert lines["message"]
    assert SOFTWARE.venue.endswith(lines["version"])
    assert f'name: "{SOFTWARE.authors[0]}"' in text and set(PAPERS) == {
        f"P{i}" for i in range(1, 6)
    }
