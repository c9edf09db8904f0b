"""The logo and the colours of an owner: only what can be read, and nothing that could run."""

from __future__ import annotations

from pathlib import Path

import pytest

from warner.collector.pages.brand import brand_files
from warner.collector.pages.survey import survey_page
from warner.collector.verification import _COLOURS
from warner.errors import ArgumentError
from warner.studies.study import Study


def test_colours_become_a_style_of_colours_alone() -> None:
    css, kind = brand_files(None, "#0B5C63, #6fd0d0")["brand.css"]
    assert kind.startswith("text/css") and _COLOURS.fullmatch(css)
    assert b"--accent: #0b5c63" in css and b"--accent: #6fd0d0" in css


@pytest.mark.parametrize(
    ("colours", "rule"),
    [
        ("#0b5c63", "must be two colours"),
        ("red,blue", "must be two colours"),
        ("#0b5c63,#6fd0d0;}x{", "must be two colours"),
        ("#ffdd00,#6fd0d0", "first colour is hard to read"),
        ("#0b5c63,#0b5c63", "second colour is hard to read"),
    ],
)
def test_what_cannot_be_read_is_refused(colours: str, rule: str) -> None:
    """Rejects: yellow on white, a dark colour on a dark screen, and other rules of a style."""
    with pytest.raises(ArgumentError, match=rule):
        brand_files(None, colours)


def test_a_logo_is_a_small_picture(tmp_path: Path) -> None:
    for name, size, rule in (("logo.png", 50_001, "at most 50,000"), ("logo.html", 9, "picture")):
        (tmp_path / name).write_bytes(b"x" * size)
        with pytest.raises(ArgumentError, match=rule):
            brand_files(str(tmp_path / name), None)
    (tmp_path / "logo.svg").write_text("<svg/>")
    assert brand_files(str(tmp_path / "logo.svg"), None) == {"logo": (b"<svg/>", "image/svg+xml")}


def test_the_page_loads_them_where_there_are_any() -> None:
    study = Study.parse(
        "[attributes.a]\nvalues = [1, 2]\nmechanism = 'RandomizedResponse'\nepsilon = 1.0"
    )
    plain, own = survey_page(study), survey_page(study, brand=("logo", "brand.css"))
    assert "brand.css" not in plain and 'src="logo"' not in plain
    assert '<img class="logo" src="logo" alt="">' in own and 'href="brand.css"' in own
