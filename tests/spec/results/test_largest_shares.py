"""Pictures of many labels: the largest with their names, and the others together; titles; PDF."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warner
from warner import Categorical, Integers
from warner.errors import ArgumentError
from warner.results.charts import chart


@pytest.fixture(scope="module")
def result() -> warner.Estimate:
    domain = Categorical([f"s{i:03d}" for i in range(100)])
    mechanism, rng = warner.HadamardResponse(domain, 3.0), np.random.default_rng(0)
    shares = 1 / np.arange(1, 101)
    values = domain.decode(rng.choice(100, size=20_000, p=shares / shares.sum()))
    return warner.estimate(mechanism.tally(mechanism.randomize(values, rng)))


def _panel(picture: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    whole = picture.to_dict()
    panel = whole["vconcat"][0]
    data = panel.get("data") or whole["data"]
    return panel, json.loads(data["values"])


def test_of_many_labels_the_largest_are_drawn_and_the_others_together(
    result: warner.Estimate,
) -> None:
    for top, picture in ((20, result.plot()), (5, result.plot(top=5))):
        panel, rows = _panel(picture)
        largest = np.argsort(-result.probabilities)[:top]
        assert [row["value"] for row in rows[:-1]] == [result.domain.labels[i] for i in largest]
        rest = 100 * (1 - result.probabilities[largest].sum())
        assert rows[-1]["value"] == f"{100 - top} other values together: {rest:.3g} %"
        assert rows[-1]["low"] is None
        assert "for all values at once" in " ".join(panel["title"]["subtitle"])
        assert "on average" not in " ".join(panel["title"]["subtitle"])


def test_intervals_of_a_choice_hold_for_all_values_at_once(result: warner.Estimate) -> None:
    _, rows = _panel(result.plot(top=3))
    together = result.interval(kind="simultaneous")
    for row in rows[:-1]:
        x = result.domain.labels.index(row["value"])
        assert [row["low"], row["high"]] == together[x].tolist()


def test_the_others_have_a_dot_where_it_fits(result: warner.Estimate) -> None:
    _, few = _panel(result.plot(top=2))
    _, many = _panel(result.plot(top=99))
    assert few[-1]["estimate"] is None and many[-1]["estimate"] == result.probabilities.min()


def test_a_top_of_all_values_or_more_leaves_nothing_together() -> None:
    mechanism = warner.RandomizedResponse(Integers(0, 4), 3.0)
    result = warner.estimate(mechanism.tally(mechanism.randomize([0, 1, 2, 3, 4] * 99)))
    assert len(_panel(result.plot(top=9))[1]) == 5 and len(_panel(result.plot(top=2))[1]) == 3
    with pytest.raises(ArgumentError, match="top: must be at least 1"):
        result.plot(top=0)


def test_a_title_takes_the_place_of_the_name_or_stands_above_several(
    result: warner.Estimate,
) -> None:
    panel, _ = _panel(result.plot(title="Which setting?"))
    assert panel["title"]["text"] == ["Which setting?"]
    both = chart([result, result], title="All settings").to_dict()
    assert both["title"]["text"] == ["All settings"]
    assert both["vconcat"][0]["title"]["text"] == ["estimated shares"]


def test_a_picture_is_a_pdf_with_text(result: warner.Estimate, tmp_path: Path) -> None:
    result.plot(str(tmp_path / "p.pdf"), title="Which setting?")
    content = (tmp_path / "p.pdf").read_bytes()
    assert content.startswith(b"%PDF") and b"/Subtype /Image" not in content
