"""HTML of notebooks and reports: escaped, without scripts, styles or requests."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from warner._core.html import Markup, interval_bar, table


def test_cells_captions_and_headings_are_escaped() -> None:
    hostile = '<script>alert("1")</script> & more'
    html = table([hostile, "b"], [[hostile, hostile]], caption=hostile)
    assert "<script" not in html
    parsed = ElementTree.fromstring(html)
    texts = [
        parsed.findtext(path) for path in ("caption", "thead/tr/th", "tbody/tr/th", "tbody/tr/td")
    ]
    assert texts == [hostile] * 4


def test_markup_in_a_cell_stays_as_it_is() -> None:
    html = table(["a", "b"], [["x", Markup("<b>y</b>")]])
    assert ElementTree.fromstring(html).findtext("tbody/tr/td/b") == "y"


def test_nothing_of_it_is_forbidden_by_a_strict_policy() -> None:
    html = table(["a", "b"], [["x", interval_bar(0.2, 0.1, 0.3, 1.0)]])
    assert not any(word in html for word in ("style=", "<style", "<script", "href", "src=", "url("))


@pytest.mark.parametrize("estimate, low, high", [(-0.1, -0.2, 0.1), (0.9, 0.8, 1.4)])
def test_a_bar_stays_inside_its_picture(estimate: float, low: float, high: float) -> None:
    svg = ElementTree.fromstring(interval_bar(estimate, low, high, 1.0, width=100))
    rect, path = svg
    assert 0 <= float(rect.attrib["width"]) <= 100
    numbers = [
        float(x)
        for x in path.attrib["d"].replace("M", " ").replace("H", " ").replace("V", " ").split()
    ]
    assert all(0 <= x <= 100 for x in numbers)
