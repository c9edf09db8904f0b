"""Pictures: every domain, many labels, and texts that must not become markup."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warner
from tests.spec._labels import _estimate
from warner import Categorical, Estimate, Grid, Integers, Interval, Product
from warner.domains import Tagged
from warner.errors import ArgumentError
from warner.results.charts import _SHADES, _TRUTH, chart


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
    if suffix == "html":
        assert b'src="http' not in content, "a picture must work offline"


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
    whole = chart([result], truth=None if truth is None else [truth]).to_dict()
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


@pytest.mark.parametrize("domain", ALL, ids=str)
def test_every_domain_has_a_picture(domain: warner.domains.Domain, tmp_path: Path) -> None:
    for i, method in enumerate((None, warner.Inversion())):
        truth = np.full(domain.size, 1 / domain.size)
        _result(domain, method, "a name").plot(str(tmp_path / f"{i}.png"), truth=truth)
        _result(domain, method).plot(str(tmp_path / f"{i}.svg"))
        assert (tmp_path / f"{i}.png").read_bytes().startswith(b"\x89PNG")


def test_many_ordered_values_are_steps_with_a_band_and_few_are_dots_with_bars() -> None:
    assert _marks(_panel(_result(Integers(0, 24)), np.ones(25) / 25)) == ["area", "line", "line"]
    assert _marks(_panel(_result(Interval(0, 1, 25)))) == ["area", "line"]
    assert _marks(_panel(_result(Integers(0, 23)), np.ones(24) / 24)) == ["rule", "point", "tick"]
    assert _marks(_panel(_result(Categorical([f"c{i}" for i in range(80)])))) == ["rule", "point"]


def test_steps_reach_from_end_to_end_and_hold_every_share() -> None:
    for domain, first, last in ((Integers(5, 44), 4.5, 44.5), (Interval(-1, 3, 40), -1, 3)):
        result = _result(domain)
        panel = _panel(result)
        rows = _data(panel["layer"][1], panel)
        assert [rows[0]["edge"], rows[-1]["edge"]] == [first, last] and len(rows) == 41
        assert [row["estimate"] for row in rows[:-1]] == result.probabilities.tolist()
        bounds = result.interval()
        assert [[row["low"], row["high"]] for row in rows[:-1]] == bounds.tolist()


def test_truth_and_estimate_differ_by_more_than_hue() -> None:
    line = _panel(_result(Integers(0, 40)), np.ones(41) / 41)
    dots = _panel(_result(Integers(0, 4)), np.ones(5) / 5)
    estimate, truth = (layer["mark"] for layer in line["layer"][1:])
    assert "strokeDash" in truth and "strokeDash" not in estimate and truth["color"] == _TRUTH
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
    assert panel["hconcat"][0]["encoding"]["x"]["title"] == "column (cells of side 0.5)"
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
        "no intervals: different distributions make the same reports" in panel["title"]["subtitle"]
    )


def test_a_band_far_wider_than_the_shares_runs_off_the_picture_and_the_caption_says_so() -> None:
    mechanism = warner.RandomizedResponse(Integers(0, 60), 0.2)
    tally = mechanism.tally(mechanism.randomize(np.arange(61).repeat(3), np.random.default_rng(0)))
    panel = _panel(warner.estimate(tally, warner.ExpectationMaximization(3)))
    top = panel["layer"][1]["encoding"]["y"]["scale"]["domain"][1]
    assert top < 0.1 and "in places beyond the picture" in panel["title"]["subtitle"][-1]
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
    assert "2,000 simulated reports, Inversion(constraint='project')" in about
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
        with pytest.raises(ArgumentError, match="truth: must have shape"):
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
        assert "for all values at once" in " ".join(panel["title"]["subtitle"])
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


def test_a_picture_is_a_pdf_with_text(result: warner.Estimate, tmp_path: Path) -> None:
    result.plot(str(tmp_path / "p.pdf"), title="Which setting?")
    content = (tmp_path / "p.pdf").read_bytes()
    assert content.startswith(b"%PDF") and b"/Subtype /Image" not in content


# Labels and names are text in pages and pictures, and nothing else.


def test_no_label_or_name_begins_a_tag_or_a_comment_in_a_page(tmp_path: Path) -> None:
    """The page holds the same tags as one of harmless labels, and the chart in it is the same
    chart.
    """
    evil = [
        "</script><script>alert(1)</script>",
        "<!--<script>",
        "</SCRIPT >",
        "<img src=x onerror=alert(1)>",
    ]
    pages = []
    for labels, name in (
        (evil, "</script><script>alert(2)</script>"),
        (["a", "b", "c", "d"], "harmless"),
    ):
        path = tmp_path / "page.html"
        result = _estimate(labels, name)
        result.plot(str(path))
        page = path.read_text()
        spec = json.loads(
            page[
                page.rindex("const spec = ") + len("const spec = ") : page.rindex(
                    ";\n  const embedOpt"
                )
            ]
        )
        shown = spec["vconcat"][0]
        values = [row["value"] for row in json.loads(next(iter(_label_data(spec)))["values"])]
        assert values == labels and shown["title"]["text"] == [name]
        pages.append([page.lower().count(part) for part in ("</script", "<script", "<!--", "<img")])
    assert pages[0] == pages[1]


def _label_data(spec: Any) -> list[Any]:
    """Every inline data set of a chart."""
    if isinstance(spec, dict):
        own = (
            [spec["data"]]
            if isinstance(spec.get("data"), dict) and "values" in spec["data"]
            else []
        )
        return own + [found for part in spec.values() for found in _label_data(part)]
    return [found for part in spec for found in _label_data(part)] if isinstance(spec, list) else []


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
    from warner.results.charts import _distinct

    labels = _distinct(["x" * 500 + "a", "x" * 500 + "b", "short"])
    assert len(set(labels)) == 3 and max(map(len, labels)) < 220 and labels[2] == "short"
