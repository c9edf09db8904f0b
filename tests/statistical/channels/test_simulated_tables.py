"""Simulated tables of tuples vary as real ones do; a named wrong program does not."""

from __future__ import annotations

import numpy as np
import pytest

import warner
from warner.channels import Channel, DirectChannel, KroneckerChannel, SupportChannel
from warner.channels.tuples import marked_table, whole_table

PAIRS: dict[str, list[Channel]] = {
    "bits x bits": [SupportChannel(4, 0.2, 0.5), SupportChannel(3, 0.3, 0.4)],
    "subsets x bits": [
        warner.SubsetSelection(warner.Integers(0, 4), 1.0, size=2).channel(),
        SupportChannel(3, 0.3, 0.4),
    ],
    "values x bits": [DirectChannel(4, 0.15, 0.4), SupportChannel(3, 0.3, 0.4)],
    "values x values": [DirectChannel(4, 0.15, 0.4), DirectChannel(3, 0.2, 0.4)],
}


RUNS, PEOPLE = 1500, 200


def _worst(channels: list[Channel], target: str, independent_rows: bool = False) -> float:
    """How many standard errors the mean and the variance of the inversion of simulated tallies are
    off, the most over all cells.
    """
    channel, rng = KroneckerChannel(channels), np.random.default_rng(5)
    theta = np.random.default_rng(1).dirichlet(np.ones(channel.shape[1]))
    people = np.random.default_rng(2).multinomial(PEOPLE, theta)
    truth = theta if target == "population" else people / PEOPLE

    def draw() -> np.ndarray:
        if independent_rows:
            return rng.multinomial(PEOPLE * int(channel.rows_per_report), channel.matvec(theta)) / (
                PEOPLE * channel.rows_per_report
            )
        return (
            channel.simulate(theta, PEOPLE, rng)
            if target == "population"
            else channel.simulate_from_values(people, rng)
        )

    found = np.stack([channel.invert(draw()) for _ in range(RUNS)])
    variance = (
        channel.variance(truth) - (0 if target == "population" else truth * (1 - truth))
    ) / PEOPLE
    mean = np.abs(found.mean(axis=0) - truth) / np.sqrt(variance / RUNS)
    spread = np.abs(found.var(axis=0) / variance - 1) / np.sqrt(2 / RUNS)
    return float(max(mean.max(), spread.max()))


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("target", ["population", "respondents"])
def test_simulated_tables_have_the_mean_and_variance_of_real_ones(name: str, target: str) -> None:
    assert (
        _worst(PAIRS[name], target) < 7.5
    )  # squares of counts have somewhat heavier tails than a normal's


def test_tables_with_rows_drawn_one_by_one_are_rejected() -> None:
    """The mutant takes a person's co-occurrences for so many people: variances far too small or
    large.
    """
    assert _worst(PAIRS["bits x bits"], "population", independent_rows=True) > 15


def test_tables_drawn_by_attribute_and_by_person_are_alike() -> None:
    channels, people = (
        PAIRS["values x values"],
        np.random.default_rng(0).multinomial(500, np.full(12, 1 / 12)).reshape(4, 3),
    )
    rng = np.random.default_rng(1)
    means = [
        np.mean([draw(channels, people, rng) for _ in range(2000)], axis=0)
        for draw in (whole_table, marked_table)
    ]
    expected = np.einsum("ia,jb,ab->ij", channels[0].dense(), channels[1].dense(), people)
    for mean in means:
        assert np.abs(mean - expected).max() < 6.5 * np.sqrt(expected.max() / 2000)
