"""The Fisher information of reports that are sets of values, without a list of all the sets."""

from __future__ import annotations

import numpy as np

from warner._core.errors import ArgumentError
from warner.channels.arrays import FloatArray
from warner.channels.descriptions import SupportLaw

# Nodes s of the integral, log t = s - exp(-s). Beyond the ends the integrand is below 1e-16.
_STEP = 0.06
_NODES = np.arange(-4.2, 6.7, _STEP)
_WORK = 5e10  # multiplications up to which the information is computed


def support_information(law: SupportLaw, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The Fisher information of one report whose bits say which values it supports.

    Under value x bit x is 1 with probability p_x = q_x + gap_x, and bit j with probability q_j.
    The bits are independent, or a fixed number of them is 1. Relative to a law P0 that does not
    depend on the value, the row of a report has the entries

        a_x = h_x where bit x is 1, else l_x;   h = p / q,   l = (1 - p) / (1 - q)

    and the information is E_0[a a' / (a.theta)]. As 1 / D = int_0^inf exp(-t D) dt, it is

        I[x, z] = int f_x f_z M dt,   M = prod_j m_j,   m_j = E_0 exp(-t theta_j a_j)
        f_x = E_0[a_x exp(-t theta_x a_x)] / m_x

    with f_x^2 replaced by E_0[a_x^2 exp(-t theta_x a_x)] / m_x on the diagonal. With a fixed number
    d of ones, P0 is that of independent bits of mean d / K given their sum, and a finite Fourier
    transform picks out the sum. Reports that one value alone makes (q_x = 0) add p_x / theta_x
    to the diagonal.

    Shapes: q = law, theta (K,) -> (K, K).
    """
    size, p = theta.size, law.q + law.gap
    named = law.q <= 0
    q = law.q if law.ones is None else np.full(size, law.ones / size)
    low = (1 - p) / (1 - q)
    high = np.divide(p, q, out=low.copy(), where=q > 0)
    spins, picks = _sum_of_bits(law, size)
    if _NODES.size * spins.size * size**2 > _WORK:
        rule = "has too many values for the information of such reports"
        raise ArgumentError("domain", rule, str(size), "Use a coarser domain")
    # Both exponents of a value are taken relative to the smaller one, so that neither m_j is 0.
    smaller = np.minimum(low, high)
    scale = smaller.min()
    total, diagonal = np.zeros((size, size)), np.zeros(size)
    for s in _NODES:
        t = np.exp(s - np.exp(-s)) / scale
        off = (1 - q) * np.exp(-t * theta * (low - smaller))
        on = spins[:, None] * (q * np.exp(-t * theta * (high - smaller)))
        m = off + on
        step = _STEP * t * (1 + np.exp(-s)) * np.exp(-t * (theta @ smaller))
        weight = step * picks * m.prod(axis=1)
        f = (low * off + high * on) / m
        total += ((f * weight[:, None]).T @ f).real
        diagonal += (weight @ ((low**2 * off + high**2 * on) / m)).real
    np.fill_diagonal(total, diagonal)
    share = theta[named]
    total[named, named] += np.divide(p[named], share, out=np.zeros(share.size), where=share > 0)
    return total, np.diag(np.where(named & (theta <= 0), p, 0.0))


def _sum_of_bits(law: SupportLaw, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Factors z (T,) of a bit of 1, and weights (T,), that make a mean over sets of fixed size.

    E[g(b) | sum b = d] = sum_T weight E[g(b) z^(sum b)] over independent bits b of mean d / K.
    """
    if law.ones is None:
        return np.ones(1), np.ones(1)
    spins = np.exp(2j * np.pi * np.arange(size + 1) / (size + 1))
    mean = law.ones / size
    picks = spins**-law.ones
    return spins, picks / (picks @ (1 - mean + mean * spins) ** size)
