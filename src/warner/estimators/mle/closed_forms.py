"""Maximum likelihood where values separate: a closed form, or a root (METHODS 4.1, 4.2, 5)."""

from __future__ import annotations

import numpy as np

from warner.channels import LikelihoodOperator, SupportLaw


def direct(channel: LikelihoodOperator, w: np.ndarray) -> np.ndarray:
    """The maximiser (K,) for randomised response, also utility-optimised, in O(K log K).

        l = sum_y w_y log(theta_y + a_y),   a_y = q / (p - q)

    A person with value y sends report y with probability p, and any other report with probability
    q. If only people with value y send report y, a_y is 0. At the maximum
    theta_y = max(0, w_y / lambda - a_y), so theta_y > 0 where w_y / a_y > lambda. In decreasing
    order of this ratio the first k shares are positive. Let W_k and A_k be the sums of their w_y
    and a_y. Because the shares sum to 1, lambda = W_k / (1 + A_k). k is the largest number for
    which the k-th share stays positive.

    Args:
        channel: the channel of the mechanism, (K, K).
        w: frequencies (K,) of the reports.
    """
    law = _support_law(channel)
    a = law.q / law.gap
    ratio = np.divide(w, a, out=np.where(w > 0, np.inf, 0.0), where=a > 0)
    order = np.argsort(-ratio)
    multiplier = np.cumsum(w[order]) / (1 + np.cumsum(a[order]))
    k = np.flatnonzero(ratio[order] > multiplier)[-1]
    theta = np.maximum(w / multiplier[k] - a, 0.0)
    out: np.ndarray = theta / theta.sum()
    return out


def separable(channel: LikelihoodOperator, w: np.ndarray) -> np.ndarray:
    """The maximiser (K,) for bit sums: a sum of strictly concave functions of one share each.

        maximise sum_x s_x log(a + theta_x) + (1 - s_x) log(b - theta_x)
        a = q / (p - q),   b = (1 - q) / (p - q),   for each value x

    s_x is the share of the reports whose bit x is 1. That bit is 1 with probability p if x is the
    true value, and with probability q otherwise. Given the multiplier lambda of sum theta = 1, each
    theta_x has a closed form. With t = a + theta and c = a + b, the derivative
    s / t - (1 - s) / (c - t) equals lambda if lambda t^2 - (1 + lambda c) t + s c = 0. The root in
    (0, c) is t = 2 s c / (1 + lambda c + sqrt((1 + lambda c)^2 - 4 lambda s c)). lambda is the root
    of a decreasing function.

    Args:
        channel: the channel of bit sums, with K values.
        w: frequencies of its rows.
    """
    from scipy.optimize import brentq

    law = _support_law(channel)
    a, c = law.q / law.gap, 1 / law.gap
    s = channel.support_shares(w)

    def theta(multiplier: float) -> np.ndarray:
        slope = 1 + multiplier * c
        # (1 + lambda c)^2 - 4 lambda s c = (1 - lambda c)^2 + 4 lambda c (1 - s). Each form is a
        # sum of squares on its side.
        root = np.sqrt(
            (1 - multiplier * c) ** 2 + 4 * multiplier * c * (1 - s)
            if multiplier > 0
            else slope**2 - 4 * multiplier * c * s
        )
        near = np.divide(2 * s * c, slope + root, out=np.zeros_like(s), where=slope > 0)
        t = (
            near
            if multiplier >= 0
            else np.where(slope > 0, near, (slope - root) / (2 * multiplier))
        )
        out: np.ndarray = np.maximum(t - a, 0.0)
        return out

    def excess(multiplier: float) -> float:
        return float(theta(multiplier).sum()) - 1

    low, high = -1.0, 1.0
    while excess(low) < 0:
        low *= 2
    while excess(high) > 0:
        high *= 2
    best = theta(brentq(excess, low, high, xtol=1e-300, rtol=1e-15, maxiter=500))
    out: np.ndarray = best / best.sum()
    return out


def budgets(channel: LikelihoodOperator, w: np.ndarray) -> np.ndarray:
    """The maximiser (K,) for several budgets, also infinite, of randomised response [P1].

        l = sum_x sum_g w_gx log(theta_x + a_g) + const,   a_g = q_g / (p_g - q_g)

    w_gx is the frequency of report x from group g. In this group people report their value with
    probability p_g, and each other value with probability q_g. Let
    h_x(t) = sum_g w_gx / (t + a_g). Given a multiplier lambda, theta_x solves
    h_x(theta_x) = lambda, or is 0 where h_x(0) <= lambda. h_x is decreasing and convex. Newton's
    method starts below the root, at the largest root of a single term, and increases to the root
    without passing it. The same holds for lambda, because sum_x theta_x is decreasing and convex in
    lambda. A step costs O(K) for each group. See METHODS 4.2.

    Args:
        channel: the channels of all groups, with K values.
        w: frequencies of its rows.
    """
    laws = [_support_law(group) for group in channel.groups()]
    a = np.stack([law.q / law.gap for law in laws])
    weights = np.stack(np.split(w, len(laws)))

    def shares(multiplier: float) -> tuple[np.ndarray, float]:
        """theta at a multiplier, and the derivative of its sum."""
        theta = np.maximum((weights / multiplier - a).max(axis=0), 0.0)
        for _ in range(60):
            terms = np.divide(weights, theta + a, out=np.zeros_like(weights), where=weights > 0)
            slope = np.divide(terms, theta + a, out=np.zeros_like(weights), where=weights > 0).sum(
                axis=0
            )
            rise = np.divide(
                terms.sum(axis=0) - multiplier, slope, out=np.zeros_like(theta), where=slope > 0
            )
            moved = np.maximum(theta + rise, 0.0)
            done = bool((np.abs(moved - theta) <= 1e-15 + 1e-14 * moved).all())
            theta = moved
            if done:
                break
        inner = (theta > 0) & (slope > 0)
        return theta, -float((1 / slope[inner]).sum())

    # Here the heaviest value alone gets a share of at least 1, so the root lies to the right.
    multiplier = float(weights.sum(axis=0).max()) / (1 + float(a.max()))
    for _ in range(200):
        theta, slope = shares(multiplier)
        step = (1 - float(theta.sum())) / slope
        if abs(step) <= 1e-15 * multiplier:
            break
        multiplier = max(multiplier + step, multiplier / 2)
    out: np.ndarray = theta / theta.sum()
    return out


def _support_law(channel: LikelihoodOperator) -> SupportLaw:
    """The support law of a channel that has one."""
    law = channel.support_law()
    assert law is not None
    return law
