"""Experiments of the papers on small cases."""

from __future__ import annotations

import math
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from papers import DataFolder, select
from papers.measures import EstimationError, People, Redrawn, of_shares, whole_reports
from papers.p2.common import MECHANISMS, lead, leads
from papers.p2.people import manhattan, manhattan_with_tags, survey, tokyo
from papers.p2.personal import personal
from papers.p2.worst_cases import PRINTED, SMALL, K, S
from papers.p3.data import apportioned, items, numbers
from papers.p3.methods import IIW, MiscountedWienerFilter, em, stop
from papers.p3.times import PRINTED as PRINTED_BICS
from papers.p4.methods import METHODS, ErrorsAndShares
from papers.p4.numbers import SHARES, binomial, rappor
from papers.p4.surfaces import surface
from papers.pictures import draw
from papers.populations import _over_neighbours, gowalla
from papers.table import Table
from papers.verdicts import all_of, less, more, ratios_in
from warner import metrics
from warner.domains import Integers
from warner.estimators import Inversion, MaximumLikelihood
from warner.estimators.base import LikelihoodData
from warner.estimators.literature import MixtureReduction
from warner.mechanisms import RandomizedResponse, UnaryEncoding, UtilityOptimizedRappor

MADE = DataFolder()
MISCOUNTED = MiscountedWienerFilter()


def error(epsilon: float, counts: list[int]) -> EstimationError:
    domain = Integers(0, len(counts) - 1)
    return EstimationError(
        lambda cell, data: People(domain, np.array(counts)),
        lambda cell, people: [(RandomizedResponse(domain, epsilon), people.reporting)],
        {"inversion": Inversion("project")},
        {"TV": of_shares(metrics.total_variation)},
        "everyone",
    )


def test_a_check_of_ratios_fails_where_one_cell_fails() -> None:
    rows = [("a", 1, 1.0), ("b", 1, 2.0), ("a", 2, 3.0), ("b", 2, 2.0)]
    table = Table({"method": m, "epsilon": e, "value": v} for m, e, v in rows)
    assert not less("a", "b")(table).holds
    assert less("a", "b", epsilon=1)(table).holds
    assert not less("a", "b", epsilon=1, factor=2.5)(table).holds
    assert more("a", "b", epsilon=2)(table).holds
    assert not all_of(less("a", "b", epsilon=1), less("a", "b", epsilon=2))(table).holds
    assert ratios_in(0.4, 1.6, "a", "b")(table).figure == "0.500 to 1.500 times in 2 cells"
    with pytest.raises(KeyError):
        less("a", "b", epsilon=3)(table)


def test_a_lead_is_that_over_the_counterpart() -> None:
    """Rejects the better new mechanism against the better old one, which is 2 here."""
    errors = {"RR": 40.0, "RAPPOR": 10.0, "uRR": 5.0, "uRAP": 8.0}
    table = Table(
        {"mechanism": m, "epsilon": 1, "metric": "TV", "value": v} for m, v in errors.items()
    )
    assert leads(table, "TV") == [8.0, 1.25]
    assert lead(1.25, "TV")(table).holds and not lead(1.3, "TV")(table).holds


def test_a_setting_that_is_drawn_anew_is_measured_once_a_run() -> None:
    drawn: list[int] = []

    def of(cell: object, rng: np.random.Generator, data: DataFolder) -> EstimationError:
        drawn.append(int(rng.integers(1, 100)))
        return error(1.0, [drawn[-1], 100])

    runs = [(run, np.random.default_rng(run)) for run in range(3)]
    rows = Redrawn(of).rows({}, runs, MADE)
    assert [row["run"] for row in rows] == [0, 1, 2]
    again = np.random.default_rng(1)
    again.integers(1, 100)
    assert rows[1] == error(1.0, [drawn[1], 100]).rows({}, [(1, again)], MADE)[0]


def test_shares_of_the_first_run_stand_beside_the_errors() -> None:
    measure = ErrorsAndShares(error(math.inf, [1, 3]), lambda people: {"x": [0, 1]})
    runs = [(run, np.random.default_rng(run)) for run in range(2)]
    table = Table(measure.rows({}, runs, MADE))
    assert table.values(metric="TV").tolist() == [0.0, 0.0]
    for method, series in (("true", "estimate"), ("inversion", "estimate"), ("inversion", "true")):
        shares = table.select(metric="share", method=method, series=series)
        assert [(row["x"], row["value"]) for row in shares.rows] == [(0, 0.25), (1, 0.75)]


def test_the_likelihood_of_whole_rappor_reports_is_maximised() -> None:
    """The twin: EM on the table of all 2^10 reports and their probabilities."""
    cell = {"data": "uniform", "epsilon": 2.0, "shares": True}
    table = Table(rappor(cell, np.random.default_rng(3), MADE))
    found = table.values(metric="share", method="MLE", series="estimate")
    mechanism = UnaryEncoding(Integers(0, 9), 2.0)
    rng = np.random.default_rng(3)
    values = rng.choice(10, 100_000, p=SHARES["uniform"][1])
    bits = mechanism.randomize(values, rng).columns["bits"]
    patterns, counts = np.unique(np.unpackbits(bits, axis=1)[:, :10], axis=0, return_counts=True)
    t = np.exp(1) / (1 + np.exp(1))
    set_, clear = np.where(np.eye(10), t, 1 - t), np.where(np.eye(10), 1 - t, t)
    law = np.exp(patterns @ np.log(set_) + (1 - patterns) @ np.log(clear))
    theta = np.full(10, 0.1)
    for _ in range(5000):
        theta *= law.T @ (counts / (law @ theta)) / counts.sum()
    np.testing.assert_allclose(found, theta, atol=1e-4)


def test_the_surface_is_the_sum_of_logarithms() -> None:
    cell = {"matrix": "3-RR", "reports": "1,2,2,3"}
    table = Table(surface(cell, np.random.default_rng(0), MADE))
    a, b, c = 0.25, 0.5, 0.25
    by_hand = np.log((1 + a) / 4) + 2 * np.log((1 + b) / 4) + np.log((1 + c) / 4)
    assert table.mean(metric="L", theta_1=a, theta_3=c) == pytest.approx(by_hand, abs=1e-12)
    # The derivative along theta_1, theta_2 falling, by a difference quotient.
    step = 1e-6

    def value(first: float) -> float:
        theta = np.array([first, 1 - first, 0.0])
        return float(np.log((1 + theta[[0, 1, 1, 2]]) / 4).sum())

    slope = (value(step) - value(0.0)) / step
    assert table.mean(metric="dL / dtheta_1", at="0, 1, 0") == pytest.approx(slope, abs=1e-5)


def test_the_people_of_p2_have_the_sizes_of_the_paper() -> None:
    for city, size, sensitive in (
        (manhattan(MADE), 625, 15),
        (manhattan_with_tags(MADE), 625, 15),
        (tokyo(MADE), 1024, 37),
    ):
        assert (city.domain.size, len(city.sensitive)) == (size, sensitive)
        assert (city.counts.sum(), city.reporting) == (359_054, 179_527)
        for hidden in city.hidden.values():
            assert hidden.sum() > 0
            assert (hidden <= city.counts).all()
            assert not hidden[city.sensitive].any()
    for attributes in (4, 6):
        people = survey(MADE, attributes=attributes)
        assert people.domain.size == 400 * 2 ** (attributes - 4)
        assert len(people.sensitive) == 86 * 2 ** (attributes - 4)
        assert people.reporting == 1_229_142


def test_check_ins_are_spread_over_neighbours_and_none_is_lost() -> None:
    counts = np.zeros((3, 4))
    counts[0, 0], counts[1, 2] = 4, 9
    found = _over_neighbours(counts)
    corner = np.zeros((3, 4))
    corner[:2, :2] = 1  # a corner has four cells in its neighbourhood, itself among them
    inner = np.zeros((3, 4))
    inner[:, 1:] = 1
    np.testing.assert_allclose(found, corner + inner)
    assert (gowalla(MADE, spread=0.25)[1] == 0).sum() < (gowalla(MADE)[1] == 0).sum()


def test_whole_reports_are_all_that_people_send() -> None:
    """Rejects reports of other people, and bit sums in place of whole reports."""
    mechanism = UtilityOptimizedRappor(Integers(0, 3), 2.0, sensitive=[0, 1])
    people = np.array([5, 0, 7, 9])
    reports = whole_reports(mechanism, people, np.random.default_rng(1))
    assert (reports.n, reports.weights.sum()) == (21, pytest.approx(1))
    assert reports.channel.shape[0] == reports.weights.size <= 2**4
    many = whole_reports(mechanism, 10_000 * people, np.random.default_rng(1))
    np.testing.assert_allclose(MaximumLikelihood().fit(many).probabilities, people / 21, atol=0.02)


def test_the_filter_of_p3s_code_takes_the_noise_for_the_mean_report_times_its_size() -> None:
    channel = RandomizedResponse(Integers(0, 9), 1.0).channel()
    people = np.array([0, 100, 0, 0, 0, 0, 0, 0, 50, 0])
    weights = channel.simulate_from_values(people, np.random.default_rng(1))
    reports = LikelihoodData(channel, weights, 150, Integers(0, 9))
    mean = float(weights @ np.arange(10))
    fewer = LikelihoodData(channel, weights, round(150 / mean), Integers(0, 9))
    found, expected = (m.fit(d).shares for m, d in ((MISCOUNTED, reports), (IIW, fewer)))
    np.testing.assert_array_equal(found, expected)


def test_scripts_of_checks_need_nothing_but_numpy() -> None:
    """Rejects a check of this package by this package."""
    scripts = sorted((Path(__file__).parents[2] / "papers" / "checks").glob("*.py"))
    assert scripts
    for script in scripts:
        imported = re.findall(r"^ *(?:from|import) +(\w+)", script.read_text(), flags=re.M)
        assert set(imported) - {"numpy"} <= sys.stdlib_module_names, script.name


def test_values_that_nobody_has_stay_so_when_check_ins_are_drawn() -> None:
    grid, counts = gowalla(MADE)
    assert (grid.size, counts.sum()) == (384, 123_273)
    assert (counts == 0).sum() > 50


def test_the_bound_of_theorem_1_has_no_second_term_where_the_truth_is_known() -> None:
    cell = {"data": "Manhattan", "mechanism": "uRR", "epsilon": 2.0}
    table = Table(personal(cell, np.random.default_rng(0), MADE))
    assert table.mean(metric="second term", knowledge="III truth") == pytest.approx(0, abs=1e-12)
    for case in table.distinct("knowledge"):
        terms = [table.mean(metric=m, knowledge=case) for m in ("first term", "second term")]
        loss = table.mean(metric="l1", knowledge=case)
        assert table.mean(metric="slack", knowledge=case) == pytest.approx(sum(terms) - loss)


def test_the_printed_limits_of_all_mechanisms_are_there() -> None:
    assert all(set(limits) == set(MECHANISMS) for limits in PRINTED.values())
    small, large = PRINTED["l2"]["RR"]
    assert small(SMALL) == pytest.approx(K * (K - 1) / (1e6 * SMALL**2))
    assert large(1.0) == pytest.approx(4e-6, rel=1e-3)
    assert PRINTED["l2"]["uRR"][0](SMALL) == pytest.approx(S * (S - 1) / (1e6 * SMALL**2))


def test_the_binomial_distribution_sums_to_one() -> None:
    assert binomial(4).tolist() == pytest.approx([1 / 8, 3 / 8, 3 / 8, 1 / 8])
    assert binomial(100).sum() == pytest.approx(1)
    assert set(METHODS) == {"INV-N", "INV-P", "EM", "MLE"}


# The experiments of P3: their people, their methods, and claims that can fail.


def test_apportioned_counts_add_up_and_are_within_one_of_their_shares() -> None:
    weights = np.random.default_rng(0).random(50)
    counts = apportioned(weights, 1_234)
    assert counts.sum() == 1_234
    assert np.abs(counts - weights / weights.sum() * 1_234).max() < 1


@pytest.mark.parametrize(("name", "n"), [("S-MN", 1_000), ("SFC", 43_386), ("Income", 149_762)])
def test_the_people_of_numbers_are_as_many_as_said(name: str, n: int) -> None:
    people = numbers(name, 1_000 if name == "S-MN" else None, MADE)
    assert people.domain.size == people.counts.size == 1024
    assert people.reporting == n
    assert people.counts.min() >= 0


def test_the_mean_of_the_two_normals_is_that_of_their_laws() -> None:
    people = numbers("S-MN", 100_000, MADE)
    points = people.domain.points
    assert points is not None
    # The upper law is cut at 1, where it loses 7 % of its people.
    upper = 0.7 - 0.2 * math.exp(-(1.5**2) / 2) / math.sqrt(2 * math.pi) / 0.9331928
    mass = 0.6 * 0.9331928 / (0.6 * 0.9331928 + 0.4)
    expected = mass * upper + (1 - mass) * 0.2
    assert float(people.shares @ points[:, 0]) == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize(("name", "size"), [("SFC", 60), ("Income", 222), ("uniform", 100)])
def test_made_items_have_the_sizes_of_the_paper(name: str, size: int) -> None:
    assert items(name, MADE).domain.size == size


def test_em_is_the_inner_fit_of_mixture_reduction_without_any_reduction() -> None:
    people = items("SFC", MADE)
    mechanism = RandomizedResponse(people.domain, 1.0)
    channel = mechanism.channel()
    weights = channel.simulate_from_values(people.counts, np.random.default_rng(1))
    data = LikelihoodData(channel, weights, people.reporting, people.domain)
    plain = em(stop(1.0)).fit(data)
    inner = MixtureReduction("em", operation=None, tolerance=stop(1.0)).fit(data)
    assert plain.iterations == inner.iterations
    np.testing.assert_allclose(plain.shares, inner.shares, atol=1e-12)


def test_the_claim_of_ten_percent_accepts_and_refuses_what_it_says() -> None:
    claim = select(["P3/fig4"])[0].claims[0]

    def table(ratio: float) -> Table:
        cell = {"data": "SFC", "protocol": "GRR", "epsilon": 1.0, "metric": "MAE"}
        errors = {"EM": 1.0, "MR": ratio}
        return Table({**cell, "method": name, "value": value} for name, value in errors.items())

    assert claim.check(table(0.85)).holds
    assert not claim.check(table(0.95)).holds


def test_the_printed_seconds_stand_beside_ours_at_every_budget() -> None:
    experiment = select(["P3/table2"])[0]
    for cell in experiment.cells:
        assert (cell["data"], cell["protocol"]) in PRINTED_BICS
    assert all(len(each) == 4 for row in PRINTED_BICS.values() for each in row)


# Long labels of bars slope, so that they do not run into each other; short ones do not.


@pytest.mark.parametrize(
    "longest, angle", [("maximum likelihood from independence", -30), ("c", 0)]
)
def test_long_labels_slope(longest: str, angle: int) -> None:
    pytest.importorskip("altair")
    experiment = select(["P5/tables-of-adult"])[0]
    (picture,) = experiment.pictures
    names = ["a", "b", longest]
    rows = [{**picture.where, picture.x: name, "value": 0.1, "run": 0} for name in names]
    chart = draw(experiment, picture, Table(rows)).to_dict()
    assert f"'labelAngle': {angle}" in str(chart)
