"""The measures of experiments: modes of reports, estimated shares, and names."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from papers import DataFolder, experiments, populations, reproduce, select
from papers.measure import Cell
from papers.measures import (
    BiasAndVariance,
    EstimatedShares,
    EstimationError,
    People,
    Reporters,
    of_shares,
    whole_counts,
)
from papers.p5.adult import _SIZES, kept_or_uniform
from papers.p5.common import table_of
from papers.p5.synthetic import dependent_pair
from papers.populations import adult_codes
from papers.table import Table
from warner import Inversion
from warner.domains import Integers
from warner.mechanisms import RandomizedResponse
from warner.metrics import cramers_v, sum_of_squares

DOMAIN = Integers(1, 4)
COUNTS = np.array([50, 30, 15, 5])


def reporters(cell: Cell, people: People) -> Reporters:
    return [(RandomizedResponse(DOMAIN, 1.0), people.reporting)]


def shares(sampling: str, runs: int = 3) -> list[dict[str, object]]:
    error = EstimationError(
        lambda cell, data: People(DOMAIN, COUNTS), reporters, {"inv": Inversion()}, {}, sampling
    )
    measure = EstimatedShares(error, lambda domain: [{"x": 1}, {"x": 2}, None, {"x": 4}])
    streams = [(run, np.random.default_rng(run)) for run in range(runs)]
    return [dict(row) for row in measure.rows({}, streams, DataFolder())]


def test_rounded_counts_have_the_sum_n_and_are_off_by_less_than_one() -> None:
    rng = np.random.default_rng(0)
    for n in (1, 7, 1000):
        for size in (2, 9, 300):
            law = rng.dirichlet(np.full(size, 0.5))
            counts = whole_counts(law, n)
            assert counts.sum() == n and np.abs(counts - n * law).max() < 1
            # No other way of rounding to the sum n is closer, so no exchange of a report helps.
            off = counts - n * law
            assert off.max() - off.min() <= 1 + 1e-9


def test_exact_reports_are_inverted_to_the_truth_in_one_run() -> None:
    rows = shares("exact")
    found = {(r["method"], r["x"]): r["value"] for r in rows}
    assert len(rows) == len(found) == 6  # one run, the third value is left out
    for x in (1, 2, 4):
        assert found["inv", x] == pytest.approx(found["truth", x], abs=1e-12)


def test_sampled_reports_differ_between_runs_and_rounded_ones_do_not() -> None:
    sampled = [r["value"] for r in shares("population") if r["method"] == "inv"]
    assert len(sampled) == 9 and len(set(sampled[::3])) == 3
    assert len([r for r in shares("rounded") if r["method"] == "inv"]) == 3


def test_a_figure_that_shows_the_numbers_of_another_leads_to_it() -> None:
    assert [e.name for e in select(["p5/fig12"])] == ["P5/fig9"]
    assert select(["P5/fig9", "P5/fig10", "P5/fig12"]) == select(["P5/fig9"])


def test_names_of_figures_are_given_once() -> None:
    names = Counter(name for e in experiments().values() for name in e.names)
    assert max(names.values()) == 1, names


def test_shipped_data_are_not_called_made() -> None:
    [outcome] = reproduce(select(["P5/fig9"]), None, DataFolder(), quick=True, processes=1)
    assert not outcome.made


def test_tables_with_a_given_dependence_have_it() -> None:
    for d in (2, 5, 10):
        for v in (0.0, 0.3, 1.0):
            table = dependent_pair(d, v)
            assert table.sum() == pytest.approx(1)
            assert cramers_v(table.reshape(d, d)) == pytest.approx(v, abs=1e-12)


def test_the_columns_of_adult_have_the_stated_numbers_of_values() -> None:
    codes = adult_codes(DataFolder())
    assert {name: size for name, (size, _) in codes.items()}.items() <= _SIZES.items()


def test_a_value_is_kept_with_the_stated_probability() -> None:
    domain = table_of(a=2, b=5)
    for d, epsilon in zip((2, 5), kept_or_uniform(domain, 0.3), strict=True):
        row = RandomizedResponse(Integers(1, d), epsilon).channel().rows(np.array([0]))[0]
        np.testing.assert_allclose(row, [0.3 + 0.7 / d] + [0.7 / d] * (d - 1), atol=1e-12)


def test_bias_and_variance_are_those_of_the_runs_and_the_pair_is_compared() -> None:
    from scipy.stats import ttest_rel

    error = EstimationError(
        lambda cell, data: People(DOMAIN, COUNTS, 200),
        reporters,
        {"inv": Inversion(), "proj": Inversion("project")},
        {"MSE": of_shares(sum_of_squares)},
    )
    streams = [(run, np.random.default_rng(run)) for run in range(8)]
    rows = BiasAndVariance(error, losses=True, pair=("inv", "proj")).rows({}, streams, DataFolder())
    table = Table(rows)
    first, second = (table.values(method=m, metric="MSE") for m in ("inv", "proj"))
    assert table.mean(method="inv", metric="mean squared error") == pytest.approx(first.mean())
    parts = [table.mean(method="inv", metric=m) for m in ("squared bias", "variance")]
    assert sum(parts) == pytest.approx(first.mean())
    pair = table.select(method="inv and proj")
    assert pair.mean(metric="p-value") == pytest.approx(ttest_rel(first, second).pvalue)
    assert pair.mean(metric="correlation") == pytest.approx(np.corrcoef(first, second)[0, 1])


def test_the_populations_have_the_sizes_of_the_papers() -> None:
    flow = populations.people_flow(DataFolder())
    assert flow.domain.size == 281 and flow.counts.sum() == 303_916
    assert populations.survey(DataFolder()).domain.size == 400
    assert populations.american_places(DataFolder()).domain.size == 415
    for make in (populations.american_places, populations.tokyo_check_ins):
        again = [make(DataFolder()).shares for _ in range(2)]
        assert np.array_equal(*again)


def test_reports_tell_the_truth_as_seldom_as_p1_says() -> None:
    for size, percent in ((281, 0.39), (415, 0.27), (400, 0.28)):
        rows = {
            epsilon: RandomizedResponse(Integers(1, size), epsilon).channel().rows(np.array([0]))[0]
            for epsilon in (0.1, np.log(size))
        }
        assert round(100 * rows[0.1][0], 2) == percent
        assert rows[np.log(size)][0] == pytest.approx(0.5, abs=0.002)
