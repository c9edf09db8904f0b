"""Labels and names are text in pages and pictures, and nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.spec._labels import _estimate


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
        values = [row["value"] for row in json.loads(next(iter(_data(spec)))["values"])]
        assert values == labels and shown["title"]["text"] == [name]
        pages.append([page.lower().count(part) for part in ("</script", "<script", "<!--", "<img")])
    assert pages[0] == pages[1]


def _data(spec: Any) -> list[Any]:
    """Every inline data set of a chart."""
    if isinstance(spec, dict):
        own = (
            [spec["data"]]
            if isinstance(spec.get("data"), dict) and "values" in spec["data"]
            else []
        )
        return own + [found for part in spec.values() for found in _data(part)]
    return [found for part in spec for found in _data(part)] if isinstance(spec, list) else []


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
