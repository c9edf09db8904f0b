"""Spreadsheets do not run labels, and numbers stay numbers."""

from __future__ import annotations

import csv
import io

import numpy as np

from tests.spec._labels import _estimate
from warner._core.table import as_cell
from warner.results.named_summaries import csv_of


def test_spreadsheets_do_not_run_labels_and_numbers_stay_numbers() -> None:
    labels = [
        '=HYPERLINK("http://x")',
        "+cmd|' /C calc'!A0",
        "-2+3",
        "@SUM(1)",
        " =1",
        "'=1",
        "＝1+1",
        "-5",
        "1e3",
        "a=b",
        "it's",
    ]
    rows = list(csv.reader(io.StringIO(csv_of([_estimate(labels, "=name")], 0.95, "population"))))
    cells = [row[1] for row in rows[1:]]
    assert cells == ["'" + label for label in labels[:7]] + labels[7:]
    assert {row[0] for row in rows[1:]} == {"'=name"}
    assert all(np.isfinite(float(cell)) for row in rows[1:] for cell in row[2:7])
    assert [as_cell(v) for v in (-5, 3, -0.5, True, (1, 2))] == [
        "-5",
        "3",
        "-0.5",
        "true",
        "[1, 2]",
    ]
