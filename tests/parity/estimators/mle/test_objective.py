"""Log-likelihoods against sums over reports of the logarithm of their probability, by the
mechanisms' exact tables.
"""

from __future__ import annotations

import numpy as np
import pytest

import warner
from tests.registry import COMBINED, KEYED, MECHANISMS, PLACES, REPEATED, smallest
from warner import Integers, Reports
from warner._core.sampling import Source
from warner.channels import SupportChannel
from warner.estimators.base import log_likelihood
from warner.mechanisms import Mechanism
from warner.results.from_tally import likelihood_data

PEOPLE = 40


def _sum_of_logs(mechanism: Mechanism, reports: Reports, theta: np.ndarray) -> float:
    """sum_i log Pr(report i), one person after the other."""
    law = np.asarray(mechanism.probabilities(), dtype=np.float64) @ theta
    place = {
        row.tobytes(): y
        for y, row in enumerate(Reports(mechanism.header, mechanism.outputs()).record_array())
    }
    return float(sum(np.log(law[place[row.tobytes()]]) for row in reports.record_array()))


def _of_bits(mechanism: Mechanism, reports: Reports, theta: np.ndarray) -> float:
    """sum over people and values of log Pr(that bit), as if bits were independent."""
    channel = mechanism.channel()
    assert isinstance(channel, SupportChannel)
    mean = channel.q + channel.gap * theta
    bits = mechanism.schema.indicators(reports.columns)[:, : theta.size]
    return float(np.where(bits == 1, np.log(mean), np.log1p(-mean)).sum())


def _drawn(mechanism: Mechanism, seed: int = 0) -> tuple[Reports, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = mechanism.domain.labels
    index = rng.integers(0, len(labels), PEOPLE)
    theta = rng.dirichlet(np.full(len(labels), 2.0))
    return mechanism.randomize(mechanism.domain.decode(index), rng), theta


@pytest.mark.parametrize("name", [*MECHANISMS, *PLACES])
def test_the_log_likelihood_is_the_sum_of_the_logarithms_of_all_reports(name: str) -> None:
    """The wrong program divides the rows of kept bits by a factor of each, and does not add its
    logarithm again.
    """
    mechanism = smallest(name)
    reports, theta = _drawn(mechanism)
    whole = _sum_of_logs(mechanism, reports, theta)
    bits = mechanism.schema.can_keep_reports
    for keep in (False, True) if bits else (False,):
        data = likelihood_data(mechanism.tally(reports, keep_reports=keep))
        expected = _of_bits(mechanism, reports, theta) if bits and not keep else whole
        assert PEOPLE * log_likelihood(data.channel, data.weights, theta) == pytest.approx(
            expected, rel=1e-9
        )


@pytest.mark.parametrize(
    "name",
    [
        *REPEATED,
        "RR x SquareWave",
        "uRR x RR",
        "geometric x RR",
        "RR x hashes of a field",
        "RR alone",
    ],
)
def test_reports_of_one_person_count_with_their_product(name: str) -> None:
    mechanism = COMBINED[name](1.0)
    rng = np.random.default_rng(0)
    index = rng.integers(0, mechanism.domain.size, PEOPLE)
    theta = rng.dirichlet(np.full(mechanism.domain.size, 2.0))
    reports = mechanism.randomize(mechanism.domain.decode(index), rng)
    data = likelihood_data(mechanism.tally(reports))
    assert PEOPLE * log_likelihood(data.channel, data.weights, theta) == pytest.approx(
        _sum_of_logs(mechanism, reports, theta), rel=1e-9
    )


@pytest.mark.parametrize("name", [name for name in KEYED if "direct" in name])
def test_reports_of_one_key_and_a_value_are_whole_reports(name: str) -> None:
    mechanism, rng = smallest(name), np.random.default_rng(0)
    index = rng.integers(0, mechanism.domain.size, PEOPLE)
    theta = rng.dirichlet(np.full(mechanism.domain.size, 2.0))
    reports = Reports(mechanism.header, mechanism.randomize_index(index, Source(rng)))
    data = likelihood_data(mechanism.tally(reports))
    assert PEOPLE * log_likelihood(data.channel, data.weights, theta) == pytest.approx(
        _sum_of_logs(mechanism, reports, theta), rel=1e-9
    )


KINDS = {
    "two budgets": [("RandomizedResponse", 0.5, False), ("RandomizedResponse", 2.0, False)],
    "values and hashes": [
        ("RandomizedResponse", 1.0, False),
        ("LocalHashing optimized", 1.0, False),
    ],
    "kept bits and values": [
        ("UnaryEncoding optimized", 1.0, True),
        ("RandomizedResponse", 1.0, False),
    ],
    "kept bits of two kinds": [
        ("SubsetSelection", 1.0, True),
        ("UtilityOptimizedRappor", 1.0, True),
    ],
    "bit sums and values": [
        ("UnaryEncoding symmetric", 1.0, False),
        ("HadamardResponse", 1.0, False),
    ],
    "bit sums of two kinds": [
        ("UnaryEncoding symmetric", 1.0, False),
        ("SubsetSelection", 2.0, False),
    ],
}


@pytest.mark.parametrize("kind", KINDS)
def test_several_mechanisms_add_up(kind: str) -> None:
    """The wrong program takes n_g / n for part of each report's probability: two budgets are off by
    2 x 40 log 2.
    """
    tallies, total, theta = [], 0.0, np.array([0.4, 0.3, 0.2, 0.1])
    for i, (name, epsilon, keep) in enumerate(KINDS[kind]):
        mechanism = MECHANISMS[name](Integers(0, 3), epsilon)
        reports, _ = _drawn(mechanism, i)
        tallies.append(mechanism.tally(reports, keep_reports=keep))
        of = _of_bits if mechanism.schema.can_keep_reports and not keep else _sum_of_logs
        total += of(mechanism, reports, theta)
    data = likelihood_data(tallies)
    assert data.n * log_likelihood(data.channel, data.weights, theta) == pytest.approx(
        total, rel=1e-9
    )
    fit = warner.MaximumLikelihood().fit(data)
    assert fit.log_likelihood is not None and fit.log_likelihood >= total - 1e-9
    path = warner.ExpectationMaximization(3, keep_path=True).fit(data).path
    even = data.n * log_likelihood(data.channel, data.weights, np.full(4, 0.25))
    assert path is not None and path[0, 0] == pytest.approx(even, rel=1e-9)


def test_a_stack_with_repeated_reports_adds_up() -> None:
    domain, theta = Integers(0, 3), np.array([0.4, 0.3, 0.2, 0.1])
    twice = warner.Repeated(
        [warner.RandomizedResponse(domain, 1.0), warner.UnaryEncoding(domain, 1.0)]
    )
    once = warner.RandomizedResponse(domain, 1.0)
    found = [_drawn(twice)[0], _drawn(once, 1)[0]]
    data = likelihood_data([twice.tally(found[0]), once.tally(found[1])])
    total = _sum_of_logs(twice, found[0], theta) + _sum_of_logs(once, found[1], theta)
    assert data.n * log_likelihood(data.channel, data.weights, theta) == pytest.approx(
        total, rel=1e-9
    )
