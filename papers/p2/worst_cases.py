"""P2, tables 3 and 4: the largest expected losses over all distributions, at both ends of epsilon.

The printed limits against the closed form at one epsilon, and against a simulation there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from papers.data_sets import DataFolder
from papers.experiment import Claim, Experiment, Picture, cells_of
from papers.measure import Cell
from papers.measures import PerRun
from papers.p2.common import MECHANISMS, NEW, OLD, OPEN
from papers.table import Row
from papers.verdicts import Check, ratios_in
from warner import metrics, theory
from warner.domains import Domain, Integers
from warner.mechanisms import Mechanism

K, S, PEOPLE, DRAWS = 4096, 16, 1_000_000, 20
SMALL, LARGE = 1e-5, round(math.log(K), 4)
Limit = Callable[[float], float]

_UNIT = math.sqrt(2 / (PEOPLE * math.pi))
PRINTED: Mapping[str, Mapping[str, tuple[Limit, Limit]]] = {
    "l1": {
        "RR": (
            lambda e: _UNIT * K * math.sqrt(K - 1) / e,
            lambda e: _UNIT * 2 * math.sqrt(K - 1),
        ),
        "RAPPOR": (
            lambda e: _UNIT * 2 * K / e,
            lambda e: _UNIT * math.sqrt(math.sqrt(K) * (K - 1)),
        ),
        "uRR": (
            lambda e: _UNIT * S * math.sqrt(S - 1) / e,
            lambda e: _UNIT * math.sqrt(K - 1),
        ),
        "uRAP": (
            lambda e: _UNIT * 2 * S / e,
            lambda e: _UNIT * math.sqrt(K - 1) * (1 + S / K**0.75),
        ),
        OPEN: (lambda e: _UNIT * math.sqrt(K - 1),) * 2,
    },
    "l2": {
        "RR": (lambda e: K * (K - 1) / (PEOPLE * e**2), lambda e: 4 / PEOPLE * (1 - 1 / K)),
        "RAPPOR": (
            lambda e: 4 * K / (PEOPLE * e**2) * (1 - 1 / K),
            lambda e: math.sqrt(K) / PEOPLE * (1 - 1 / K),
        ),
        "uRR": (lambda e: S * (S - 1) / (PEOPLE * e**2), lambda e: 1 / PEOPLE),
        "uRAP": (
            lambda e: 4 * S / (PEOPLE * e**2),
            lambda e: (1 + (S + 1) / math.sqrt(K)) / PEOPLE,
        ),
        OPEN: (lambda e: (1 - 1 / K) / PEOPLE,) * 2,
    },
}
"""{loss: {mechanism: the printed limits for epsilon near 0 and for epsilon = ln K}}."""


def _worst(cell: Cell, rng: np.random.Generator, data: DataFolder) -> list[Row]:
    """The printed limit, the closed form at epsilon, and the mean of simulated losses."""
    domain, name, loss = Integers(0, K - 1), cell["mechanism"], cell["loss"]
    epsilon, at_large = cell["epsilon"], cell["epsilon"] == LARGE
    made = MECHANISMS[name](domain, epsilon, list(range(S)))
    subject: Mechanism | Domain = domain if name == OPEN else made
    closed, theta = theory.worst_case_loss(subject, PEOPLE, loss)
    channel = made.channel()
    distance = metrics.l1 if loss == "l1" else metrics.sum_of_squares
    losses = [
        distance(channel.invert(channel.simulate(theta, PEOPLE, rng)), theta) for _ in range(DRAWS)
    ]
    values = {
        "printed": PRINTED[loss][name][int(at_large)](epsilon),
        "closed form": closed,
        "simulated": float(np.mean(losses)),
    }
    return [{"method": method, "value": value} for method, value in values.items()]


def _agree(first: str, slack: float, mechanisms: tuple[str, ...], epsilon: float) -> Check:
    return ratios_in(
        1 / (1 + slack),
        1 + slack,
        first,
        "closed form",
        ("mechanism",),
        mechanism=mechanisms,
        epsilon=epsilon,
    )


def _table(name: str, loss: str, word: str, says: str) -> Experiment:
    private = (*OLD, *NEW)
    words = f"{says} ({'table 3' if loss == 'l1' else 'table 4'})"
    return Experiment(
        name=name,
        title=f"The worst case of {word} for epsilon near 0 and epsilon = ln K",
        says=says,
        measure=PerRun(_worst),
        cells=cells_of(loss=[loss], epsilon=[SMALL, LARGE], mechanism=list(MECHANISMS)),
        runs=1,
        quick_runs=1,
        claims=(
            Claim(
                "The printed limits for epsilon near 0 are those of the closed form, within 2 %.",
                _agree("printed", 0.02, private, SMALL),
                held=True,
                words=words,
            ),
            Claim(
                "The printed values at epsilon = ln K of RR, RAPPOR and no privacy are those of "
                "the closed form, within 5 %.",
                _agree("printed", 0.05, (*OLD, OPEN), LARGE),
                held=True,
                words=words,
            ),
            Claim(
                "The printed approximations at epsilon = ln K of uRR and uRAP are within 10 % of "
                "the closed form.",
                _agree("printed", 0.1, NEW, LARGE),
                held=True,
                words=words,
            ),
            Claim(
                "The simulated losses are those of the closed form, within 10 %.",
                ratios_in(0.9, 1.1, "simulated", "closed form", ("mechanism", "epsilon")),
                ours=True,
                held=True,
            ),
        ),
        pictures=tuple(
            Picture(
                "bar",
                "mechanism",
                color="method",
                where={"epsilon": epsilon},
                value=word,
                log_y=True,
                name=part,
                title=f"worst case of {word}, epsilon {shown}",
            )
            for part, epsilon, shown in (("small", SMALL, "0.00001"), ("large", LARGE, "ln K"))
        ),
        differs=f"{K} values of which {S} are sensitive, {PEOPLE:,} people; epsilon {SMALL:.5f} "
        f"stands for epsilon near 0. Simulated losses are means of {DRAWS} draws.",
        conclusion="Same: the printed limits are those of the closed form, and simulated losses "
        "agree with it. The values at ln K are limits for many values: RAPPOR's is "
        + ("2 %" if loss == "l1" else "5 %")
        + f" off at {K} values. Sections 4.3 and D.2.3 of the paper say sqrt(K) times for RAPPOR's "
        "l1 loss, where the table's K^(1/4) is right.",
    )


EXPERIMENTS: tuple[Experiment, ...] = (
    _table(
        "P2/table3",
        "l1",
        "the l1 loss",
        "RR: sqrt(2 / (n pi)) K sqrt(K - 1) / epsilon near 0, twice the non-private loss at ln K. "
        "RAPPOR: 2 K / epsilon, and K^(1/4) times. uRR and uRAP: S in place of K near 0, and about "
        "the non-private loss at ln K.",
    ),
    _table(
        "P2/table4",
        "l2",
        "the l2 loss",
        "RR: K (K - 1) / (n epsilon^2) near 0, four times the non-private loss at ln K. RAPPOR: "
        "4 K / (n epsilon^2), and sqrt(K) times. uRR and uRAP: S in place of K near 0, and 1 / n "
        "and (1 + (S + 1) / sqrt(K)) / n at ln K.",
    ),
)
