"""How much of the dependence of attributes the reports support.

At independent attributes the score of the likelihood, s = A' (w / A theta), has an interaction

    Q = sum_x theta_x s_S(x)^2

s_S is the part of s that no smaller set of attributes explains: from s the mean over each attribute
of S is removed, with weights theta. If the attributes are independent, only noise is left. Its
energy is known. With one report y_a for each attribute a,

    E Q = (1/n) sum_y w_y prod_a q_a(y_a),   q_a(y) = sum_x theta_a(x) (A_a[y, x] / d_a[y] - 1)^2

where d_a = A_a theta_a. For k-RR and a uniform theta, Q is a multiple of the squared interaction of
the inversion, and its noise is that of METHODS 10.3. The score does not need an inverse, so the
rule holds where the inverse is badly conditioned, as for numbers with noise.

The supported part is the positive-part shrinkage factor of James and Stein,

    c = max(0, 1 - f E Q / Q),   f = p / (p + 1)

with p the degrees of freedom. For p = 1, where no shrinkage is better everywhere, f = 1/2 keeps the
risk below 1.22 times that of no shrinkage, and halves it where there is no dependence. f = 1 would
reach 1.44. For p = 2 the largest risk is 1.07, and from p = 4 on it is below 1 (normal means,
20,000 draws for each of ten distances from 0).

Where M interactions are looked at, chance makes some of them large. Their noise would add up in the
whole table. So an interaction is kept only if

    Q > E Q (1 + 2 sqrt(t / p) + 2 t / p),   t = log(M) / 2

A chi-square variable with p degrees of freedom exceeds p times the bracket with a probability below
exp(-t), 1 / sqrt(M) (Laurent and Massart 2000). On made-up tables, t = 0, log(M) / 4 and log(M) err
32 %, 4 % and 4 % more on the whole table.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log, prod, sqrt

import numpy as np

from warner.channels import Channel, LikelihoodOperator
from warner.estimators.likelihood_data import LikelihoodData
from warner.estimators.mle.objective import safe_divide
from warner.estimators.raking.tables import product_of, spread

# Entries of a matrix that is formed where attributes were not randomised separately.
_LARGEST = 2**24
_STRICT = 0.5  # t over log(M)


def supported_part(
    data: LikelihoodData,
    parts: Sequence[np.ndarray],
    base: np.ndarray | None = None,
    rivals: int = 1,
) -> float:
    """The factor c in [0, 1] by which the interaction of all attributes is multiplied.

    Args:
        data: reports on some attributes.
        parts: the distribution (K_a,) of each of them, all shares positive.
        base: the table without the interaction, all shares positive, such as a model of all pairs.
            None for independent attributes. Weights and noise are those of independent ones.
        rivals: the number M of interactions that are looked at. With more than one, c is 0 unless
            Q exceeds what chance gives in one of sqrt(M) interactions.

    Returns:
        c; 1 where the noise of the score is not known.
    """
    energy, noise = energy_and_noise(data, parts, base)
    if noise is None:
        return 1.0
    freedom = prod(part.size - 1 for part in parts)
    tail = _STRICT * log(rivals)
    least = 1 + 2 * sqrt(tail / freedom) + 2 * tail / freedom if rivals > 1 else 0.0
    if energy <= least * noise:
        return 0.0
    return max(0.0, 1 - freedom / (freedom + 1) * noise / energy)


def energy_and_noise(
    data: LikelihoodData, parts: Sequence[np.ndarray], base: np.ndarray | None = None
) -> tuple[float, float | None]:
    """The energy Q of the score's interaction, and its mean E Q where attributes are independent.

    Args:
        data: reports on some attributes.
        parts: the distribution (K_a,) of each of them, all shares positive.
        base: the table at which the score is taken; None for independent attributes.

    Returns:
        Q and E Q; None for E Q where attributes were not randomised separately and there are more
        than 2^24 pairs of a row and a value.
    """
    shape = [part.size for part in parts]
    theta = product_of(parts)
    channel, w = data.channel, data.weights
    start = theta if base is None else base
    score = channel.rmatvec(safe_divide(w, channel.matvec(start.ravel()))).reshape(shape)
    for axis, part in enumerate(parts):
        weights = spread(part, (axis,), len(parts))
        score = score - (score * weights).sum(axis=axis, keepdims=True)
    energy = float((theta * score**2).sum())
    noise = 0.0
    for group, weights, people in channel.split_groups(w, data.n):
        found = _noise(group, weights, parts)
        if found is None:
            return energy, None
        # The score is the sum of the groups' scores, each weighted by its share of the rows.
        rows = people * group.rows_per_report
        noise += rows / (data.n * channel.rows_per_report) ** 2 * found
    return energy, noise


def _noise(channel: LikelihoodOperator, w: np.ndarray, parts: Sequence[np.ndarray]) -> float | None:
    """E Q for one observation of a row; None where it cannot be computed."""
    shape = [part.size for part in parts]
    factors = channel.factors(shape)
    if factors is not None:
        squares = [
            _dependent_bits(f) * _squares(f, part) for f, part in zip(factors, parts, strict=True)
        ]
        return float(w @ product_of(squares).ravel())
    rows, size = channel.shape
    if rows * size > _LARGEST:
        return None
    # The score's noise, taken as even over the K - 1 contrasts, of which these are the interaction.
    freedom = prod(length - 1 for length in shape)
    return float(w @ _squares(channel, product_of(parts).ravel())) * freedom / max(size - 1, 1)


def _dependent_bits(channel: LikelihoodOperator) -> float:
    """The factor by which the bits of one report add more noise than that many reports would.

    Independent bits add none. Where the number of ones is fixed, any two of K bits have the
    correlation -1 / (K - 1). The variance of a contrast of bits is then K / (K - 1) times the sum
    of their variances.
    """
    law = channel.support_law()
    fixed = channel.rows_are_bit_sums and law is not None and law.ones is not None
    return channel.shape[1] / max(channel.shape[1] - 1, 1) if fixed else 1.0


def _squares(channel: LikelihoodOperator | Channel, theta: np.ndarray) -> np.ndarray:
    """q (m,): sum_x theta_x (A[y, x] / (A theta)_y - 1)^2."""
    d = channel.matvec(theta)
    second = np.empty_like(d)
    for rows, block in channel.blocks():
        second[rows] = block**2 @ theta
    return np.divide(second, d**2, out=np.ones_like(d), where=d > 0) - 1
