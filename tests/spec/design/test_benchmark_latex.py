"""A league as a table in LaTeX, and its sources."""

from __future__ import annotations

import re
from typing import Any

from warner import Integers, MatrixMechanism, RandomizedResponse, benchmark
from warner.design.benchmark import number

TRUTH = [0.4, 0.3, 0.2, 0.1]
FOUND = benchmark(
    {"a_b": TRUTH, "even": [0.25] * 4},
    Integers(0, 3),
    {"R&R": RandomizedResponse, "steps": "TruncatedGeometric"},
    ["mle", "inversion"],
    epsilon=[0.5, 1.0],
    n=[100, 200],
    runs=2,
)


def test_each_column_has_its_least_mean_in_bold() -> None:
    text = FOUND.to_latex(digits=4)
    first, second = text.split("\n\n")
    assert first.startswith("% a_b\n") and second.startswith("% even\n")
    rows = [row for row in FOUND.rows() if row["truth"] == "even"]
    for epsilon in (0.5, 1.0):
        for n in (100, 200):
            here = [row["mean"] for row in rows if (row["epsilon"], row["n"]) == (epsilon, n)]
            assert rf"\textbf{{{number(min(here), 4)}}}" in second
    assert second.count(r"\textbf") >= 4 and r"R\&R" in second
    assert r"\multicolumn{2}{c}{$\varepsilon = 0.5$}" in second
    widths = {
        len(line.split(" & ")) for line in second.splitlines() if re.search(r"\d \\\\$", line)
    }
    assert widths == {6}
    assert FOUND.to_latex(digits=1).count(r"\textbf") >= text.count(r"\textbf")


def test_what_is_left_out_is_a_dash() -> None:
    def only_much(domain: Any, epsilon: float) -> MatrixMechanism:
        return MatrixMechanism(domain, [[0.7, 0.3], [0.3, 0.7]], epsilon)  # needs 0.847

    found = benchmark(
        [0.5, 0.5], Integers(0, 1), [RandomizedResponse, only_much], ["mle"], [0.5, 1.0], 100, 2
    )
    line = found.to_latex().splitlines()[-3]
    assert line.startswith(r"only\_much & mle & -- & ")


def test_every_source_is_named_once() -> None:
    text = FOUND.bibtex()
    keys = re.findall(r"@\w+\{([\w-]+),", text)
    assert len(keys) == len(set(keys)) and {"warner1965", "ghosh2009", "warner"} <= set(keys)
