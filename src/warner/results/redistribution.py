"""Personalised protection at the collector: the shares of tags are distributed over values.

A person can hide a value under a tag, such as a home address under "@home" [P2 sec 5.3, 5.4].
The device then randomises the tag in place of the value, and the estimate is of values and tags.
P2 calls the tags bots.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from warner._core.checks import distribution, kind, real, show
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    MismatchError,
)
from warner.domains import Domain
from warner.results.intervals import interval
from warner.results.solution import Solution


@dataclass(frozen=True, eq=False)
class Redistributed:
    """Shares of values, after the shares of tags were distributed over the values.

    Attributes:
        probabilities: (K,) p = r + sum_k r(tag k) pi_k [P2 eq 22].
        domain: the K values.
        estimate: the estimated shares r (K + tags,) of values and tags.
        tag_shares: {tag: r(tag)}.
        matrix: (K, K + tags), with p = matrix @ r. If a pi_k is taken in proportion to r, it is
            computed once from this r.
        worst_case: 2 sum_k |r(tag k)|, the most that wrong background knowledge adds to the l1
            loss.

    >>> from warner import Integers, UtilityOptimizedRR, estimate
    >>> from warner.mechanisms import PersonalizedULDP
    >>> city = PersonalizedULDP(UtilityOptimizedRR(Integers(0, 9), 2.0, sensitive=[3]), ["home"])
    >>> reports = city.device({"home": [4]}).randomize([4] * 500 + [7] * 500)
    >>> shares = estimate(city.tally(reports)).redistribute({"home": [0.1] * 10})
    >>> list(shares.tag_shares), shares.interval(replicates=20).shape
    (['home'], (10, 2))
    """

    probabilities: np.ndarray
    domain: Domain
    estimate: Solution
    tag_shares: dict[str, float]
    matrix: np.ndarray
    worst_case: float

    def bound(self, loss: float, background: Mapping[str, float] | None = None) -> float:
        """An upper bound of the l1 distance of p from the true shares.

            loss + sum_k |r(tag k)| l1(pi_k, true pi_k)

        The absolute values are needed where an inversion is negative.

        Args:
            loss: the l1 loss of the shares of values and tags, for example
                ``warner.theory.expected_loss(mechanism, theta, n, "l1")`` of the common mechanism.
            background: {tag: l1(pi_k, true pi_k)}, the l1 loss of what is known about the tag. A
                tag that is not named counts with 2, the largest possible loss.

        Returns:
            The bound.

        Raises:
            ArgumentError: a negative loss, an unknown tag, or an l1 loss outside [0, 2].

        Source: [P2 theorem 1].
        """
        real("loss", loss, least=0)
        losses = {} if background is None else dict(background)
        tags = ", ".join(self.tag_shares)
        for tag, value in losses.items():
            if tag not in self.tag_shares:
                raise ArgumentError("background", f"must name only the tags {tags}", show(tag))
            real(f"l1 loss of the tag {tag!r} in background", value, least=0, most=2)
        return loss + sum(
            abs(share) * losses.get(tag, 2.0) for tag, share in self.tag_shares.items()
        )

    def rows(self) -> list[dict[str, Any]]:
        """A row for each value: value, estimate and the estimated number of people."""
        shares = zip(self.domain.labels, self.probabilities.tolist(), strict=True)
        return [{"value": v, "estimate": p, "people_about": p * self.estimate.n} for v, p in shares]

    def to_json(self) -> dict[str, Any]:
        """The redistributed shares as JSON data: shares, tags and worst_case."""
        shares = [
            {"value": v, "estimate": float(p)}
            for v, p in zip(self.domain.labels, self.probabilities, strict=True)
        ]
        tags = self.tag_shares
        return {"redistributed": {"shares": shares, "tags": tags, "worst_case": self.worst_case}}

    def interval(
        self,
        level: float = 0.95,
        target: str = "population",
        replicates: int | None = None,
        rng: np.random.Generator | None = None,
    ) -> np.ndarray:
        """Bootstrap intervals for the shares, as if the background knowledge were true.

        Args:
            level: coverage, in [0.5, 1).
            target: ``"population"`` or ``"respondents"``.
            replicates: number of simulated tallies, at least 20 and 1 / (1 - level). None takes
                200, or up to 10,000 where the level needs more.
            rng: None for fresh randomness.

        Returns:
            (K, 2) low and high of each share.
        """
        return interval(self.estimate, level, target, "bootstrap", self.matrix, replicates, rng)


def redistributed(
    estimate: Solution, background: Mapping[str, ArrayLike] | None = None
) -> Redistributed:
    """The shares of tags over the values: see :meth:`warner.Estimate.redistribute`."""
    tagged = estimate.domain
    if not tagged.tags:
        rule = "has no tags whose shares could be given back to the values"
        remedy = "Use an estimate from the tally of a PersonalizedULDP mechanism"
        raise MismatchError("estimate", rule, None, remedy)
    size = tagged.untagged.size
    distributions = _background(background, tagged.tags)
    r = estimate.probabilities
    proportional = _proportional(r[:size], _not_sensitive(estimate, size))
    matrix = np.concatenate([np.eye(size), np.zeros((size, len(tagged.tags)))], axis=1)
    for k, tag in enumerate(tagged.tags):
        matrix[:, size + k] = (
            distribution(f"background {tag}", distributions[tag], size)
            if tag in distributions
            else proportional
        )
    tag_shares = {tag: float(r[size + k]) for k, tag in enumerate(tagged.tags)}
    worst_case = 2 * sum(abs(share) for share in tag_shares.values())
    return Redistributed(matrix @ r, tagged.untagged, estimate, tag_shares, matrix, worst_case)


def _background(
    background: Mapping[str, ArrayLike] | None, tags: tuple[str, ...]
) -> dict[str, ArrayLike]:
    """Background knowledge as a dict; refused where it names an unknown tag."""
    if background is not None and not isinstance(background, Mapping):
        raise ArgumentTypeError("background", "must be a dict {tag: shares}", kind(background))
    distributions = {} if background is None else dict(background)
    if any(tag not in tags for tag in distributions):
        named = ", ".join(map(str, distributions))
        raise ArgumentError("background", f"must name only the tags {', '.join(tags)}", named)
    return distributions


def _not_sensitive(estimate: Solution, size: int) -> np.ndarray:
    """The mask (K,) of values that are not sensitive for everyone; all where every value is.

    Of several budgets or mechanisms, a value counts where one of them does not protect it: people
    with that one can hide the value under a tag.
    """
    mask = np.zeros(size, dtype=bool)
    for channel in estimate.data.channel.groups():
        law = channel.binomial_law(np.full(channel.shape[1], 1 / channel.shape[1]))
        if law is None:
            rule = "does not say which values are sensitive for everyone"
            remedy = "Use an estimate from tallies of PersonalizedULDP mechanisms"
            raise MismatchError("estimate", rule, None, remedy)
        # Only the value itself makes the reports that support such a value.
        mask |= law.q[:size] == 0
    return mask if mask.any() else np.ones(size, dtype=bool)


def _proportional(shares: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """The distribution (K,) in proportion to the positive shares of the masked values."""
    base = np.where(mask, np.maximum(shares, 0.0), 0.0)
    total = float(base.sum())
    return base / total if total > 1e-12 else mask / mask.sum()
