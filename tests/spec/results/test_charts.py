"""Pictures: every domain, many labels, and texts that must not become markup."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import warner
from tests.refusals import refused
from tests.spec._labels import _estimate
from warner import Categorical, Estimate, Grid, Integers, Interval, Product
from warner.collector.pages.brand import contrast
from warner.domains import Tagged
from warner.errors import ArgumentError, ArgumentTypeError
from warner.results.charts import _SHADES, chart, pictured
from warner.results.charts_of_groups import forest
from warner.results.drawing import (
    BAND,
    INK,
    PALETTE,
    PAPER,
    QUIET,
    SERIES,
    TRUTH,
    apart,
    drawn_together,
    page,
)


@pytest.fixture(scope="module")
def tally() -> warner.Tally:
    mechanism = warner.RandomizedResponse(Categorical(["a", "b", "c", "d"]), 1.0)
    values = ["a"] * 600 + ["b"] * 300 + ["c"] * 100
    return mechanism.tally(mechanism.randomize(values, np.random.default_rng(2)))


@pytest.mark.parametrize(
    "suffix, magic", [("png", b"\x89PNG"), ("svg", b"<svg"), ("html", b"<!DOCTYPE"), ("json", b"{")]
)
def test_pictures_are_saved(tally: warner.Tally, suffix: str, magic: bytes, tmp_path: Path) -> None:
    result: Estimate = warner.estimate(tally)
    result.plot(str(tmp_path / f"p.{suffix}"), truth=[0.6, 0.3, 0.1, 0])
    content = (tmp_path / f"p.{suffix}").read_bytes()
    assert content.lstrip().startswith(magic)
    if suffix in ("html", "svg"):
        drawn = content.decode()
        assert 'role="img"><title>' in drawn and "<desc>" in drawn
        assert "prefers-color-scheme: dark" in drawn
    if suffix == "html":
        assert "<script" not in drawn and drawn.count("<th") == 4 + 6, "the numbers stand below"


def test_pictures_of_many_values_and_wrong_names(tally: warner.Tally, tmp_path: Path) -> None:
    mechanism = warner.RandomizedResponse(warner.Integers(0, 99), 4.0)
    warner.estimate(mechanism.tally(mechanism.randomize([1, 2, 3]))).plot(str(tmp_path / "p.svg"))
    with pytest.raises(ArgumentError, match=r"must end in \.png"):
        warner.estimate(tally).plot(str(tmp_path / "p.gif"))
    assert [p.name for p in tmp_path.iterdir()] == ["p.svg"]


def _result(
    domain: warner.domains.Domain, method: Any = None, name: str | None = None, n: int = 2000
) -> Estimate:
    mechanism, rng = warner.RandomizedResponse(domain, 3.0), np.random.default_rng(0)
    result = warner.estimate(
        mechanism.tally(mechanism.randomize(domain.decode(rng.choice(domain.size, n)), rng)),
        method or warner.Inversion("project"),
    )
    return Estimate(result.fit, result.data, result.estimator, name)


def _unidentified(size: int, name: str = "x") -> Estimate:
    slope = np.linspace(0.3, 0.7, size)
    blind = warner.MatrixMechanism(Integers(0, size - 1), np.stack([slope, 1 - slope]))
    result = warner.estimate(
        blind.tally(blind.randomize([0, 1, 2] * 100, np.random.default_rng(0))),
        warner.MaximumLikelihood(),
    )
    return Estimate(result.fit, result.data, result.estimator, name)


def _panel(result: Estimate, truth: Any = None) -> dict[str, Any]:
    return _panel_of(chart([result], truth=None if truth is None else [truth]))


def _panel_of(picture: Any) -> dict[str, Any]:
    whole = picture.to_dict()
    (panel,) = whole["vconcat"]
    return {"data": whole.get("data"), **panel}


def _marks(panel: dict[str, Any]) -> list[str]:
    return [part["mark"]["type"] for part in panel.get("layer") or panel["hconcat"]]


def _data(part: dict[str, Any], panel: dict[str, Any]) -> list[dict[str, Any]]:
    return json.loads((part.get("data") or panel["data"])["values"])  # type: ignore[no-any-return]


ALL = [
    Categorical(["a", "b", "c"]),
    Categorical([f"c{i}" for i in range(70)]),
    Integers(0, 5),
    Integers(-20, 40),
    Interval(0, 1, 5),
    Interval(-1, 1, 40),
    Grid(2, 3),
    Grid(20, 30, 0.25),
    Product(a=Integers(0, 1), b=Categorical(["x", "y"])),
    Tagged(Grid(2, 3), ["home"]),
    Tagged(Integers(0, 40), ["home"]),
]


@pytest.mark.crossed(11)
@pytest.mark.parametrize("domain", ALL, ids=str)
@pytest.mark.parametrize("constraint", ["project", None])
@pytest.mark.parametrize("has_truth", [False, True])
@pytest.mark.parametrize("suffix, magic", [("png", b"\x89PNG"), ("svg", b"<svg")])
def test_every_domain_has_a_picture(
    domain: warner.domains.Domain,
    constraint: str | None,
    has_truth: bool,
    suffix: str,
    magic: bytes,
    tmp_path: Path,
) -> None:
    result = _result(domain, warner.Inversion(constraint), "a name" if has_truth else None)
    truth = np.full(domain.size, 1 / domain.size) if has_truth else None
    result.plot(str(tmp_path / f"p.{suffix}"), truth=truth)
    assert (tmp_path / f"p.{suffix}").read_bytes().startswith(magic)


def test_many_ordered_values_are_steps_with_a_band_and_few_are_dots_with_bars() -> None:
    assert _marks(_panel(_result(Integers(0, 24)), np.ones(25) / 25)) == ["area", "line", "line"]
    assert _marks(_panel(_result(Interval(0, 1, 25)))) == ["area", "line"]
    assert _marks(_panel(_result(Integers(0, 23)), np.ones(24) / 24)) == ["rule", "point", "tick"]
    assert _marks(_panel(_result(Categorical([f"c{i}" for i in range(80)])))) == ["rule", "point"]


@pytest.mark.parametrize("bins", [20, 60])
def test_many_numbers_are_a_histogram_of_the_bands_of_their_table(bins: int) -> None:
    """Rejects towers of single bins at round numbers, and a list of dots where bins are fewer."""
    wave = warner.SquareWave(Interval(0, 600, bins=bins), 1.0)
    minutes = np.random.default_rng(3).gamma(2, 20, 2_000).clip(0, 599)
    result = warner.estimate(wave.tally(wave.randomize(minutes, np.random.default_rng(4))))
    panel = _panel_of(result.plot(unit="minutes"))
    assert _marks(panel) == ["bar", "rule"] and len(panel["title"]["subtitle"]) == 2
    x = panel["layer"][0]["encoding"]["x"]
    assert (x["title"], x["sort"]) == ("minutes", None)
    printed = [row for row in result.table().rows if row["is_share"]]
    for row, expected in zip(_data(panel["layer"][0], panel), printed, strict=True):
        assert row["value"] == expected["value"]
        for key in ("estimate", "low", "high"):
            assert row[key] == pytest.approx(expected[key])
    assert printed[0]["value"] == "0 to 50"
    assert _marks(_panel_of(result.plot(truth=[1 / bins] * bins)))[-1] in ("line", "tick")


def test_steps_reach_from_end_to_end_and_hold_every_share() -> None:
    for domain, first, last in ((Integers(5, 44), 4.5, 44.5), (Interval(-1, 3, 40), -1, 3)):
        result = _result(domain)
        panel = _panel(result)
        rows = _data(panel["layer"][1], panel)
        assert [rows[0]["edge"], rows[-1]["edge"]] == [first, last] and len(rows) == 41
        assert [row["estimate"] for row in rows[:-1]] == result.probabilities.tolist()
        bounds = result.interval()
        assert [[row["low"], row["high"]] for row in rows[:-1]] == bounds.tolist()


def test_true_shares_with_labels_stand_beside_the_values_that_they_name() -> None:
    """Rejects: a series read by position, and one of other labels that ends in a KeyError."""
    result = _result(Categorical(["a", "b", "c"]), warner.Inversion("project"), None)
    counted = pd.Series({"c": 0.7, "a": 0.3})
    for truth in (counted, counted.to_dict()):
        assert result.plot(truth=truth).to_dict() == result.plot(truth=[0.3, 0, 0.7]).to_dict()
    with pytest.raises(ArgumentError, match=r"truth: must name values of the question; got .d."):
        result.plot(truth=counted.rename({"a": "d"}))


def test_truth_and_estimate_differ_by_more_than_hue() -> None:
    line = _panel(_result(Integers(0, 40)), np.ones(41) / 41)
    dots = _panel(_result(Integers(0, 4)), np.ones(5) / 5)
    estimate, truth = (layer["mark"] for layer in line["layer"][1:])
    assert "strokeDash" in truth and "strokeDash" not in estimate and truth["color"] == TRUTH
    assert dots["layer"][1]["mark"]["type"] == "point"
    assert dots["layer"][2]["mark"]["type"] == "tick"
    assert "dashed: truth" in str(line["title"]["subtitle"]) and "upright ticks: truth" in str(
        dots["title"]["subtitle"]
    )


def test_a_grid_is_a_map_with_the_truth_beside_it_on_one_scale_that_grows_darker() -> None:
    result, truth = _result(Grid(3, 4, 0.5), warner.Inversion()), np.arange(12) / 66
    panel = _panel(result, truth)
    assert _marks(panel) == ["rect", "rect"] and panel["resolve"]["scale"]["color"] == "shared"
    scales = [p["encoding"]["color"]["scale"] for p in panel["hconcat"]]
    both = np.concatenate([result.probabilities, truth])
    assert scales[0] == scales[1] and scales[0]["domain"] == pytest.approx(
        [min(0, both.min()), both.max()]
    )
    rows = _data(panel["hconcat"][0], panel)
    assert [(row["row"], row["column"]) for row in rows] == result.domain.labels
    assert panel["hconcat"][0]["encoding"]["x"]["title"] == "column (cells with sides of 0.5)"
    light = [
        sum(w * int(shade[i : i + 2], 16) for w, i in ((0.2126, 1), (0.7152, 3), (0.0722, 5)))
        for shade in _SHADES
    ]
    assert light[0] > light[1] + 50 > light[2] + 100, (
        "lightness must fall steadily for the map to read in grey"
    )


@pytest.mark.parametrize("size", [5, 40])
def test_without_intervals_there_are_no_bars_and_no_band_and_the_caption_says_so(size: int) -> None:
    panel = _panel(_unidentified(size))
    assert _marks(panel) == (["point"] if size == 5 else ["line"])
    assert (
        "no intervals, because different shares would give the same reports"
        in panel["title"]["subtitle"]
    )


def test_a_band_far_wider_than_the_shares_runs_off_the_picture_and_the_caption_says_so() -> None:
    mechanism = warner.RandomizedResponse(Integers(0, 60), 0.2)
    tally = mechanism.tally(mechanism.randomize(np.arange(61).repeat(3), np.random.default_rng(0)))
    panel = _panel(warner.estimate(tally, warner.ExpectationMaximization(3)))
    top = panel["layer"][1]["encoding"]["y"]["scale"]["domain"][1]
    caption = " ".join(" ".join(panel["title"]["subtitle"]).split())
    assert top < 0.1 and caption.endswith("reaches the edge of the picture, it is cut off")
    assert all(layer["mark"]["clip"] for layer in panel["layer"])
    assert "beyond" not in str(_panel(_result(Integers(0, 40), n=100_000))["title"])


@pytest.mark.parametrize("domain", ALL, ids=str)
def test_captions_are_wrapped_and_name_level_target_method_and_people(
    domain: warner.domains.Domain,
) -> None:
    title = _panel(_result(domain, name="a question with a long name " * 5))["title"]
    assert all(len(line) <= 80 for line in (*title["text"], *title["subtitle"]))
    assert len(title["text"]) > 1
    about = " ".join(title["subtitle"])
    assert "2,000 simulated reports; method: inversion (constraint='project')" in about
    assert "95 % interval for the population" in about


def test_labels_of_bins_and_combinations_are_short() -> None:
    bins = _panel(_result(Interval(0, 1 / 3, 7)))
    assert all(len(row["value"]) <= 9 for row in _data(bins["layer"][0], bins))
    both = _panel(_result(Product(a=Integers(0, 1), b=Categorical(["x", "y"]))))
    assert [row["value"] for row in _data(both["layer"][0], both)] == [
        "0, x",
        "0, y",
        "1, x",
        "1, y",
    ]
    assert both["layer"][0]["encoding"]["y"]["title"] == "a, b"


def test_a_truth_of_another_shape_is_refused() -> None:
    for domain in ALL[:8]:
        with pytest.raises(
            ArgumentError, match=r"truth: must be a list of .* shares, in the order"
        ):
            chart([_result(domain)], truth=[[0.5, 0.5, 0, 0]])


# Pictures of many labels: the largest with their names, and the others together; titles; PDF.


@pytest.fixture(scope="module")
def result() -> warner.Estimate:
    domain = Categorical([f"s{i:03d}" for i in range(100)])
    mechanism, rng = warner.HadamardResponse(domain, 3.0), np.random.default_rng(0)
    shares = 1 / np.arange(1, 101)
    values = domain.decode(rng.choice(100, size=20_000, p=shares / shares.sum()))
    return warner.estimate(mechanism.tally(mechanism.randomize(values, rng)))


def _largest_panel(picture: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    whole = picture.to_dict()
    panel = whole["vconcat"][0]
    data = panel.get("data") or whole["data"]
    return panel, json.loads(data["values"])


def test_of_many_labels_the_largest_are_drawn_and_the_others_together(
    result: warner.Estimate,
) -> None:
    for top, picture in ((20, result.plot()), (5, result.plot(top=5))):
        panel, rows = _largest_panel(picture)
        largest = np.argsort(-result.probabilities)[:top]
        assert [row["value"] for row in rows[:-1]] == [result.domain.labels[i] for i in largest]
        rest = 100 * (1 - result.probabilities[largest].sum())
        assert rows[-1]["value"] == f"{100 - top} other values together: {rest:.3g} %"
        assert rows[-1]["low"] is None
        assert "right for all values together" in " ".join(panel["title"]["subtitle"])
        assert "on average" not in " ".join(panel["title"]["subtitle"])


def test_intervals_of_a_choice_hold_for_all_values_at_once(result: warner.Estimate) -> None:
    _, rows = _largest_panel(result.plot(top=3))
    together = result.interval(kind="simultaneous")
    for row in rows[:-1]:
        x = result.domain.labels.index(row["value"])
        assert [row["low"], row["high"]] == together[x].tolist()


def test_the_others_have_a_dot_where_it_fits(result: warner.Estimate) -> None:
    _, few = _largest_panel(result.plot(top=2))
    _, many = _largest_panel(result.plot(top=99))
    assert few[-1]["estimate"] is None and many[-1]["estimate"] == result.probabilities.min()


def test_a_top_of_all_values_or_more_leaves_nothing_together() -> None:
    mechanism = warner.RandomizedResponse(Integers(0, 4), 3.0)
    result = warner.estimate(mechanism.tally(mechanism.randomize([0, 1, 2, 3, 4] * 99)))
    assert len(_largest_panel(result.plot(top=9))[1]) == 5
    assert len(_largest_panel(result.plot(top=2))[1]) == 3
    with pytest.raises(ArgumentError, match="top: must be at least 1"):
        result.plot(top=0)


def test_a_title_takes_the_place_of_the_name_or_stands_above_several(
    result: warner.Estimate,
) -> None:
    panel, _ = _largest_panel(result.plot(title="Which setting?"))
    assert panel["title"]["text"] == ["Which setting?"]
    both = chart([result, result], title="All settings").to_dict()
    assert both["title"]["text"] == ["All settings"]
    assert both["vconcat"][0]["title"]["text"] == ["estimated shares"]


def test_a_title_does_not_rename_the_axis_of_numbers() -> None:
    """Rejects "Our survey (middle of each of 12 ranges)" as what the numbers are."""
    minutes = warner.SquareWave(warner.Interval(0, 60, 12), 2.0)
    tally = minutes.tally(minutes.randomize(np.random.default_rng(1).uniform(0, 60, 500)))
    for options, name in (({}, "value"), ({"unit": "minutes"}, "minutes")):
        chart_of = warner.estimate(tally).plot(title="Our survey", **options)
        panel, _ = _largest_panel(chart_of)
        assert panel["title"]["text"] == ["Our survey"]
        axis = panel["layer"][0]["encoding"]["y"]["title"]
        assert axis == f"{name} (middle of each of 12 ranges)"


def test_a_picture_is_a_pdf_with_text(result: warner.Estimate, tmp_path: Path) -> None:
    result.plot(str(tmp_path / "p.pdf"), title="Which setting?")
    content = (tmp_path / "p.pdf").read_bytes()
    assert content.startswith(b"%PDF") and b"/Subtype /Image" not in content


# Labels and names are text in pages and pictures, and nothing else.


def test_no_label_or_name_begins_a_tag_or_a_comment_in_a_page(tmp_path: Path) -> None:
    """The page has the tags of one with harmless labels, no script, and asks for nothing."""
    evil = [
        "</script><script>alert(1)</script>",
        "<!--<script>",
        "</SCRIPT >",
        "<img src=x onerror=alert(1)>",
    ]
    pages = []
    for labels, name in (
        (evil, "</title></style><script>alert(2)</script>"),
        (["a", "b", "c", "d"], "harmless"),
    ):
        for suffix in ("html", "svg"):
            path = tmp_path / f"page.{suffix}"
            _estimate(labels, name).plot(str(path))
            pages.append(_Tags(path.read_text()).tags)
    for harmful, harmless in zip(pages[:2], pages[2:], strict=True):
        tags = {tag for tag, _ in harmful} - {"tspan"}  # of labels with several lines
        assert tags == {tag for tag, _ in harmless} - {"tspan"} and "script" not in tags
        assert not {"src", "href", "onerror"} & {name for _, names in harmful for name in names}


class _Tags(HTMLParser):
    """The tags of a page, each with the names of its attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, tuple[str, ...]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, tuple(name for name, _ in attrs)))


def test_no_label_or_name_stops_a_picture(tmp_path: Path) -> None:
    """A character that is not allowed in XML used to abort the whole process, so another one draws."""
    code = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[3])!r})
from tests.spec._labels import LEGAL, _estimate
result = _estimate([*LEGAL, "x" * 10_000, "x" * 9_999 + "y"], "\\x00\\x1b\\ufffe\\ud800" + "n" * 10_000)
for suffix in ("svg", "png", "html", "json"):
    result.plot({str(tmp_path)!r} + "/picture." + suffix)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_long_labels_are_cut_in_pictures_and_stay_apart() -> None:
    labels = apart(
        ["x" * 500 + "a", "x" * 500 + "b", "short", "word " * 60 + "1", "word " * 60 + "2"]
    )
    assert len(set(labels)) == 5 and max(map(len, labels)) < 220 and labels[2] == "short"


# Colours: every one has a partner in dark mode, and both can be read.


@pytest.mark.parametrize("is_dark", [False, True], ids=["light", "dark"])
def test_text_and_marks_have_the_contrast_of_wcag_aa(is_dark: bool) -> None:
    """A palette whose greys are too near to the paper is rejected."""
    shown = {light: dark if is_dark else light for light, dark in PALETTE.items()}
    assert contrast(shown[INK], shown[PAPER]) >= 4.5  # text
    for mark in (QUIET, *SERIES):
        assert contrast(shown[mark], shown[PAPER]) >= 3  # lines that carry a number
    for mark in (INK, TRUTH):
        assert contrast(shown[mark], shown[BAND]) >= 3  # what is drawn on a band


def _benchmark() -> Any:
    """A chart with a series for each of nine methods."""
    methods = ["inversion", "project", "normalize", "norm-cut", "mle", "em:2", "em:3", "em:4", "eb"]
    labels = Categorical(["no", "yes"])
    return warner.benchmark(["no", "yes"], labels, ["RandomizedResponse"], methods, [1.0], [99], 2)


def test_every_colour_of_a_chart_is_one_of_the_palette(
    result: warner.Estimate, tmp_path: Path
) -> None:
    """A colour of its own would stay light in dark mode; shades of maps are told by a legend."""
    groups = {"a": _tally([900, 100]), "b": _tally([500, 500])}
    pictures = (
        lambda path: result.plot(path, truth=np.full(100, 0.01)),
        lambda path: _result(Integers(0, 40)).plot(path, reports=True),
        lambda path: _result(Integers(0, 4)).plot(path, truth=np.ones(5) / 5, reports=True),
        lambda path: warner.estimate(groups).plot(path),
        lambda path: warner.compare_groups(groups).plot(path),
        lambda path: _by_week(list("abc")).plot(path),
        lambda path: _benchmark().plot(path),
    )
    for i, draw in enumerate(pictures):
        path = tmp_path / f"{i}.svg"
        draw(str(path))
        body = path.read_text().partition("</style>")[2]
        used = set(re.findall(r'(?:fill|stroke)="([^"]+)"', body))
        assert used <= {*PALETTE, "none", "transparent"}, used


# What was received beside what is concluded; texts of questions; differences.


def _tally(counts: list[int], labels: Any = ("no", "yes"), epsilon: float = 2.0) -> warner.Tally:
    mechanism = warner.RandomizedResponse(Categorical(list(labels)), epsilon)
    values = [label for label, n in zip(labels, counts, strict=True) for _ in range(n)]
    return mechanism.tally(mechanism.randomize(values, np.random.default_rng(3)))


def test_reports_stand_beside_the_estimate_with_their_share_and_in_the_table(
    tmp_path: Path,
) -> None:
    tally = _tally([700, 300])
    result, path = warner.estimate(tally), tmp_path / "p.html"
    panel = _panel_of(result.plot(str(path), reports=True))
    rows = _data(panel["layer"][0], panel)
    received = tally.counts / tally.n
    assert [row["reports"] for row in rows] == pytest.approx(received.tolist())
    assert _marks(panel) == ["bar", "bar", "rule", "point"]
    assert "dashed bars: reports that name the value" in panel["title"]["subtitle"][1]
    for share in received:
        assert f"{100 * share:.1f}" in path.read_text()
    wave = warner.SquareWave(Integers(0, 9), 1.0)
    with pytest.raises(ArgumentError, match="a report of this mechanism names no value"):
        warner.estimate(wave.tally(wave.randomize([1, 2, 3] * 50))).plot(reports=True)


def test_reports_of_bits_name_every_value_whose_bit_is_set() -> None:
    bits = warner.UnaryEncoding(Categorical(["a", "b", "c"]), 1.0)
    tally = bits.tally(bits.randomize(["a"] * 300, np.random.default_rng(0)))
    panel = _panel_of(warner.estimate(tally).plot(reports=True))
    shown = [row["reports"] for row in _data(panel["layer"][0], panel)]
    ones = tally.counts[-3:] if tally.counts.size > 3 else tally.counts
    assert sum(shown) > 1.0 and shown == pytest.approx((ones / tally.n).tolist())


def test_texts_of_answers_take_the_place_of_their_codes_and_are_folded() -> None:
    long = "yes, every single day of the week, also on holidays, at work and when ill"
    result = warner.estimate(_tally([700, 300], ("0", "1")))
    panel = _panel_of(result.plot(title="Do you smoke?", labels=["no", long]))
    shown = [row["value"] for row in _data(panel["layer"][0], panel)]
    assert shown[0] == "no" and shown[1].count("\n") == 2 and shown[1].split()[-1] == "ill"
    assert panel["title"]["text"] == ["Do you smoke?"]
    for draw in (result, warner.compare_groups({"a": _tally([9, 9]), "b": _tally([9, 5])})):
        with pytest.raises(ArgumentError, match="labels: must be 2 texts"):
            draw.plot(labels=["no"])


def test_a_forest_has_the_rows_their_intervals_and_a_line_at_0() -> None:
    """A picture that fills the dots by the uncorrected p-value is rejected."""
    groups = {
        name: _tally([1000 - n, n]) for name, n in zip("abcd", (250, 290, 300, 420), strict=True)
    }
    differences = warner.compare_groups(groups)
    panel = _panel_of(differences.plot())
    assert _marks(panel) == ["rule", "rule", "point"]
    assert _data(panel["layer"][0], panel) == [{"at": 0}]
    shown = _data(panel["layer"][1], panel)
    assert [row["difference"] for row in shown] == sorted(
        (row["difference"] for row in shown), key=abs, reverse=True
    )
    rows = {row["group"]: row for row in differences.rows() if row["value"] == "yes"}
    for row in shown:
        stated = rows[row["pair"]]
        for key in ("difference", "low", "high"):
            assert row[key] == pytest.approx(100 * stated[key])
        assert row["differs"] == (stated["p_holm"] < 0.05)
    assert {row["differs"] for row in shown} == {True, False}
    ordered = _panel_of(differences.plot(largest_first=False, top=2))
    largest = sorted(rows.values(), key=lambda row: -abs(row["difference"]))[:2]
    assert [row["pair"] for row in _data(ordered["layer"][1], ordered)] == sorted(
        row["group"] for row in largest
    )


def _below(chart: Any) -> list[str]:
    """All lines below titles in a chart."""
    if isinstance(chart, dict):
        titles = chart.get("title", {})
        own = titles.get("subtitle", []) if isinstance(titles, dict) else []
        return [
            *own,
            *(line for key, part in chart.items() if key != "title" for line in _below(part)),
        ]
    return [line for part in chart for line in _below(part)] if isinstance(chart, list) else []


@pytest.mark.parametrize("width", [250, 900])
def test_panels_are_as_wide_as_asked_and_sentences_fold_with_them(width: int) -> None:
    """Rejects a picture that keeps its width, and one whose title is cut off beside it."""
    result = warner.estimate({"a": _tally([900, 100]), "b": _tally([700, 300])})
    differences = warner.compare_groups({"a": _tally([900, 100]), "b": _tally([700, 300])})
    for plot in (result["a"].plot, result.plot, differences.plot):
        usual, wide = _panel_of(plot()), _panel_of(plot(width=width))
        assert (usual["width"], wide["width"]) == (460, width)
        usual, wide = plot().to_dict(), plot(width=width).to_dict()
        before, after = (_below(each) for each in (usual, wide))
        assert max(map(len, before)) <= 80 and " ".join(after).split() == " ".join(before).split()
        assert max(map(len, after)) <= (55 if width == 250 else 140)
    for wrong in (99, "wide", float("nan")):
        refused((ArgumentError, ArgumentTypeError), "width: must be", differences.plot, width=wrong)


def test_a_forest_of_numbers_has_a_panel_for_each_number_and_one_for_the_shares_of_a_pair() -> None:
    mechanism, rng = warner.SquareWave(Integers(0, 40), 2.0), np.random.default_rng(0)
    groups = {
        name: mechanism.tally(mechanism.randomize(rng.binomial(40, p, 3000), rng))
        for name, p in (("town", 0.3), ("village", 0.4), ("farm", 0.4))
    }
    three = warner.compare_groups(groups, reference="village")
    values = list(dict.fromkeys(str(row["value"]) for row in three.rows()))
    panels = three.plot().to_dict()["vconcat"]
    assert [" ".join(panel["title"]["text"]) for panel in panels] == values
    titles = [panel["layer"][2]["encoding"]["x"]["title"][0] for panel in panels]
    assert titles[0].startswith("difference in the unit of the answers") and "points" in titles[-1]
    del groups["farm"]
    two = warner.compare_groups(groups, reference="village")
    picture = two.plot(largest_first=False).to_dict()
    shares = [str(row["value"]) for row in two.rows() if row["is_share"]]
    *numbers, last = picture["vconcat"]
    assert len(numbers) == len(values) - len(shares)
    assert last["title"]["text"] == ["town minus village"]
    assert [row["pair"] for row in _data(last["layer"][1], {"data": picture.get("data")})] == shares
    by_default = two.plot().to_dict()  # bands in the order of the numbers, whatever their size
    last = by_default["vconcat"][-1]
    rows = _data(last["layer"][1], {"data": by_default.get("data")})
    assert [row["pair"] for row in rows] == shares


def test_a_forest_names_the_question_that_was_chosen_or_that_both_estimates_name() -> None:
    coin = warner.RandomizedResponse(Categorical(["no", "yes"]), 2.0)
    both = warner.PerAttribute({"smokes": coin, "drinks": coin})
    answers = {"smokes": ["no", "yes"] * 200, "drinks": ["no", "no", "yes", "yes"] * 100}
    tally = both.tally(both.randomize(answers), {"ward": ["north", "south"] * 200})
    groups = warner.compare_groups(tally, attributes="smokes")
    north, south = (warner.estimate(_tally([300, n])) for n in (100, 200))
    smokers = [replace(each, attribute="smokes") for each in (north, south)]
    for differences, title in (
        (groups, "Differences between groups: smokes"),
        (warner.compare_groups(*smokers), "Differences between groups: smokes"),
        (warner.compare_groups(smokers[0], south), "Differences between groups"),
        (warner.compare_groups(north, south), "Differences between groups"),
    ):
        assert differences.plot().to_dict()["title"]["text"] == [title]
    assert groups.plot(title="Do you smoke?").to_dict()["title"]["text"] == ["Do you smoke?"]


def test_a_choice_of_the_largest_differences_is_said_not_to_be_accounted_for() -> None:
    """Intervals of the largest of many differences hold less often than those of each by itself."""
    labels = [f"v{i}" for i in range(30)]
    tallies = [_tally([20] * 30, labels, 4.0), _tally([25] * 15 + [15] * 15, labels, 4.0)]
    differences = warner.compare_groups(warner.estimate(tallies[0]), warner.estimate(tallies[1]))
    panel = _panel_of(differences.plot(top=5))
    assert "the 5 largest of 30 differences" in " ".join(panel_title := _captions(differences, 5))
    assert "the intervals do not allow for" in " ".join(panel_title)
    assert len(_data(panel["layer"][1], panel)) == 5
    assert "the intervals do not allow for" not in " ".join(_captions(differences, None))


def _captions(differences: Any, top: int | None) -> list[str]:
    return list(differences.plot(top=top).to_dict()["title"]["subtitle"])


def test_groups_of_many_numbers_are_drawn_as_mean_and_quartiles() -> None:
    """Rejects panels of a dozen bins, as it was, and a chart without the quartiles of its table."""
    rng = np.random.default_rng(1)
    wave = warner.SquareWave(Interval(0, 240, bins=48), 2.0)
    wards = {"ward": ["north", "south"] * 400}
    result = warner.estimate(wave.tally(wave.randomize([30.0, 140.0] * 400, rng), wards))
    panels = result.plot().to_dict()["concat"]
    drawn = [panel["title"]["text"] for panel in panels]
    assert drawn == [["mean"], ["25 % quantile"], ["median"], ["75 % quantile"]]
    assert drawn[::2] == [["mean"], ["median"]]
    assert len(result.plot(values=[2.5]).to_dict()["vconcat"]) == 1
    even = [1 / 48] * 48
    subtitle = result["north",].plot(truth=even).to_dict()["vconcat"][0]["title"]["subtitle"]
    assert "; method: smoothed" in subtitle[0]
    assert "wider at round numbers" in " ".join(" ".join(subtitle).split())


def _axes(text: str, channel: str) -> list[dict[str, Any]]:
    """The encodings of a channel in all layers of a chart that have a scale."""
    found: list[dict[str, Any]] = []

    def look(part: Any) -> None:
        if isinstance(part, dict):
            of = part.get("encoding", {}).get(channel)
            found.extend([of] if isinstance(of, dict) and "scale" in of else [])
            part = list(part.values())
        for inner in part if isinstance(part, list) else ():
            look(inner)

    look(json.loads(text))
    return found


def _by_week(labels: list[str], wards: list[str] | None = None) -> Estimate:
    mechanism = warner.RandomizedResponse(Categorical(labels), 4.0)
    answers = [label for label in labels for _ in range(300)]
    when = {"week": ["2026-W10", "2026-W11", "2026-W12"] * (len(answers) // 3)}
    when |= {} if wards is None else {"ward": [wards[i % 2] for i in range(len(answers))]}
    return warner.estimate(mechanism.tally(mechanism.randomize(answers), when), time="week")


def test_lines_of_a_few_answers_over_time_stand_in_one_panel_with_one_legend() -> None:
    """Rejects a panel for each answer with a single line in it."""
    labels = ["never", "once a week", "several times a week", "every day, also at weekends or so"]
    result = _by_week(labels)
    panel = _panel_of(result.plot())
    bars, line, dots = panel["layer"]
    assert {"when", "path", "estimate"} <= _data(line, panel)[0].keys()
    order = [apart([label])[0] for label in labels]
    for encoding in (bars["encoding"]["color"], dots["encoding"]["shape"]):
        assert encoding["scale"]["domain"] == order and encoding["legend"]["title"] is None
    assert line["encoding"]["strokeDash"]["scale"]["domain"] == order
    assert bars["encoding"]["xOffset"]["sort"] == order
    # Rejects marks that are spread over half of the way to the next week: they stand by their tick.
    spread = 1 - bars["encoding"]["x"]["scale"]["paddingInner"]
    assert 20 < spread * panel["width"] / 3 < 40
    rows = {(row["week"], row["value"]): row for row in result.rows()}
    assert len(_data(line, panel)) == len(rows)
    for row in _data(line, panel):
        stated = rows[row["when"], row["value"]]
        assert (row["estimate"], row["low"]) == (stated["estimate"], stated["low"])
    assert len(_by_week(list("abcdefg")).plot().to_dict()["concat"]) == 7
    assert len(_panel_of(_by_week(["no", "yes"]).plot())["layer"]) == 3
    wards = _by_week(labels, ["north", "south"]).plot().to_dict()
    assert [panel["title"]["text"] for panel in wards["concat"]] == [
        each.split("\n") for each in order
    ]
    legends = [panel["layer"][2]["encoding"]["shape"]["legend"] for panel in wards["concat"]]
    assert {legend["title"] for legend in legends} == {"ward"}
    assert wards["resolve"]["scale"] == {"color": "shared", "shape": "shared"}
    # Of two questions on one page each has its legend, and its bars stand about their week.
    both = page([result.plot(), _by_week(list("abc")).plot()]).to_dict()["resolve"]["scale"]
    assert {key: both[key] for key in ("color", "shape", "xOffset")} == dict.fromkeys(
        ("color", "shape", "xOffset"), "independent"
    )


@pytest.mark.crossed(3)
@pytest.mark.parametrize(
    "times, axis",
    [
        (["2026-12", "2026-10"], ["2026-10", "2026-11", "2026-12"]),
        (["2026-W53", "2027-W02"], ["2026-W53", "2027-W01", "2027-W02"]),
        (["2026-10-03", "2026-10-01"], None),
    ],
)
@pytest.mark.parametrize("numbers", [False, True])
def test_months_and_weeks_have_their_names_on_the_axis_of_time(
    times: list[str], axis: list[str] | None, numbers: bool
) -> None:
    """Rejects ticks of weeks between two months, and means in rows without a time."""
    domain = Interval(0, 1, bins=4) if numbers else Categorical(["a", "b", "c"])
    mechanism = (
        warner.SquareWave(domain, 4.0) if numbers else warner.RandomizedResponse(domain, 4.0)
    )
    answers = [0.1, 0.6, 0.7] * 200 if numbers else ["a", "b", "b"] * 200
    when = {"when": times * 300, "ward": ["n", "n", "s", "s"] * 150}
    tally = mechanism.tally(mechanism.randomize(answers, np.random.default_rng(4)), when)
    for time in (None,) if numbers else (None, "when"):
        result = warner.estimate(tally, time=time)
        drawn = _axes(result.plot().to_json(), "x")
        assert drawn and all(x["field"] == "when" and x["title"] == "when" for x in drawn)
        assert all(x["type"] == ("temporal" if axis is None else "ordinal") for x in drawn)
        assert axis is None or all(x["scale"]["domain"] == axis for x in drawn)


@pytest.mark.parametrize(
    "names, axis",
    [
        (["weeks-2026-W53", "weeks-2027-W02"], ["2026-W53", "2027-W01", "2027-W02"]),
        (["log 2026-12 final", "log 2026-11"], ["2026-11", "2026-12"]),
        (["2026-10-03_v2", "2026-10-01_v1"], []),
        (["north-2026-W10", "south-2026-W10", "north-2026-W11"], None),  # no order of times
        (["2026-W10", "2026-10"], None),
        (["2026-W10", "the rest"], None),
        (["2026-10-01 to 2026-10-07", "2026-10-08 to 2026-10-14"], None),
        (["12026-10", "32026-11"], None),
        (["2026-W10", "2026-W10b"], None),
    ],
)
def test_groups_whose_names_have_dates_are_lines_over_time(
    names: list[str], axis: list[str] | None
) -> None:
    """Rejects a time among names of which two have one date, or one has no date."""
    groups = {name: _tally([300, 200]) for name in names}
    picture = warner.estimate(groups).plot().to_json()
    assert ('"line"' in picture) == (axis is not None)
    if axis is not None:
        drawn = _axes(picture, "x")
        assert drawn and all(x["field"] == "when" for x in drawn)
        assert all(x["title"] in ("week", "month", "day") for x in drawn)
        assert all(x["type"] == ("ordinal" if axis else "temporal") for x in drawn)
        assert not axis or all(x["scale"]["domain"] == axis for x in drawn)


def test_more_wards_than_lines_can_be_told_apart_stay_rows() -> None:
    """Rejects seven lines of one colour over weeks, which nobody can tell apart."""
    for wards, is_line in ((6, True), (7, False)):
        when = {"ward": [f"w{i}" for i in range(wards)] * 40}
        when["week"] = ["2026-W10", "2026-W11"] * (20 * wards)
        order = np.random.default_rng(0).permutation(40 * wards)
        when = {name: np.array(texts)[order].tolist() for name, texts in when.items()}
        coin = warner.RandomizedResponse(Categorical(["no", "yes"]), 4.0)
        tally = coin.tally(coin.randomize(["no", "yes"] * (20 * wards)), when)
        assert ('"line"' in warner.estimate(tally).plot().to_json()) == is_line


def _domains(picture: Any, channel: str = "x") -> list[list[float]]:
    """The domains of the scales of numbers, of all panels in their order."""
    axes = [each for each in _axes(picture.to_json(), channel) if each["type"] == "quantitative"]
    return [each["scale"]["domain"] for each in axes]


def test_panels_of_shares_on_one_page_have_one_scale() -> None:
    """Rejects scales that end at 35 % and at 80 % below each other."""
    few = warner.estimate(_tally([100] * 10, list("abcdefghij"), 4.0))
    many = warner.estimate(_tally([700, 300]))
    assert _domains(few.plot()) != _domains(many.plot())
    assert _domains(chart([few, many])) == 2 * _domains(many.plot())
    assert _domains(warner.estimate(_tally([900, 100])).plot()) == [[0, 1]]


def test_differences_and_groups_on_one_page_have_one_scale() -> None:
    near, far = (
        {name: _tally([1000 - n, n]) for name, n in zip("ab", (300, more), strict=True)}
        for more in (330, 700)
    )
    of_groups = None, 0.95, "population", None, None, None, False, None, None
    for one, other in (
        [forest(warner.compare_groups(groups)) for groups in (near, far)],
        [pictured(warner.estimate(groups), *of_groups)[0] for groups in (near, far)],
    ):
        assert _domains(one.draw(one.ends)) != _domains(other.draw(other.ends))
        first, second = (_domains(each) for each in drawn_together([one, other]))
        assert first == second
        ((low, high),) = first
        assert low <= min(one.ends) and high >= max(other.ends)


def test_mean_median_and_quartiles_have_one_scale_and_bands_another() -> None:
    """Rejects a scale of each panel, on which the same length is another number of minutes."""
    mechanism, rng = warner.SquareWave(Integers(0, 40), 2.0), np.random.default_rng(0)
    groups = {
        name: mechanism.tally(mechanism.randomize(rng.binomial(40, p, 3000), rng))
        for name, p in (("town", 0.3), ("village", 0.5))
    }
    differences = warner.compare_groups(groups)
    numbers = [row for row in differences.rows() if not row["is_share"]]
    scales = [tuple(domain) for domain in _domains(differences.plot())]
    assert len(set(scales)) == 2
    low, high = min(0, *(r["low"] for r in numbers)), max(0, *(r["high"] for r in numbers))
    assert scales[0] == pytest.approx((low, high))


def test_axes_of_numbers_have_their_unit() -> None:
    """Rejects a long question that is cut before its unit, and a difference of no unit."""
    rng = np.random.default_rng(1)
    wave = warner.SquareWave(Interval(0, 240, bins=48), 2.0)
    wards = {"ward": ["north", "south"] * 400}
    tally = wave.tally(wave.randomize([30.0, 140.0] * 400, rng), wards)
    title = f"{'How long do you walk on a usual day? ' * 3} (minutes)"
    result = replace(warner.estimate(tally), attribute=title)
    for unit, axis in (("minutes", "minutes"), (None, "How long do you walk on a ...")):
        panels = result.plot(unit=unit).to_dict()["concat"]
        axes = [panel["layer"][1]["encoding"]["x"]["axis"]["title"] for panel in panels]
        assert axes == [axis] * 4
    north = result["north",].plot(unit="minutes", truth=[1 / 48] * 48)
    assert _panel_of(north)["layer"][0]["encoding"]["x"]["title"] == "minutes (48 ranges)"
    differences = warner.compare_groups(tally, reference="south")
    for unit, axis in (("minutes", "minutes"), (None, "the unit of the answers")):
        panels = differences.plot(unit=unit).to_dict()["vconcat"]
        titles = [" ".join(panel["layer"][2]["encoding"]["x"]["title"]) for panel in panels]
        assert titles[0] == f"difference in {axis} (north minus south)"
        assert titles[-1] == "difference in percentage points (north minus south)"


def test_a_misspelt_option_and_capitals_of_a_file_are_understood(tmp_path: Path) -> None:
    """Rejects: an error of Python for label=, and a picture refused because of .PNG."""
    coin = warner.RandomizedResponse(Categorical(["no", "yes"]), 3.0)
    weeks = {"a": coin.tally(coin.reports([0, 1] * 50)), "b": coin.tally(coin.reports([1] * 90))}
    result = warner.estimate(weeks["a"])
    for plot in (result.plot, warner.compare_groups(weeks).plot):
        refused(TypeError, "Is 'labels' meant", plot, label=["x", "y"])
    result.plot(str(tmp_path / "x.PNG"))
    assert (tmp_path / "x.PNG").read_bytes()[:4] == b"\x89PNG"
    other = warner.estimate(weeks["b"])
    refused(ArgumentTypeError, r"compare_groups\(first, second\)", lambda: other - result)
    refused(TypeError, "unsupported operand", lambda: other - 1)
