"""The collector's half of personalised protection: from shares of values and bots to shares of values [P2 sec 5.3, 5.4]."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from warner._core.checks import distribution, kind, real
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    MismatchError,
    message,
)
from warner.domains import Domain, Tagged
from warner.results.intervals import interval
from warner.results.solution import Solution


@dataclass(frozen=True, eq=False)
class Redistributed:
    """Shares of values after the bots' shares were given back to values.

    Attributes:
        probabilities: (K,) p = r + sum_k r(bot k) pi_k [P2 eq 22].
        domain: the K values.
        estimate: the shares r of values and bots (K + tags,).
        tag_shares: {tag: r(bot)}.
        matrix: (K, K + tags), p = matrix @ r; where a pi_k is in proportion to r itself, at this r.
        worst_case: 2 sum_k |r(bot k)|: the most that wrong background knowledge can add to the l1 loss.
    """

    probabilities: np.ndarray
    domain: Domain
    estimate: Solution
    tag_shares: dict[str, float]
    matrix: np.ndarray
    worst_case: float

    def bound(self, loss: float, background: Mapping[str, float] | None = None) -> float:
        """An upper bound of l1(p, truth): ``loss`` + sum_k |r(bot k)| l1(pi_k, true pi_k) [P2 theorem 1].

        The absolute values are needed where an inversion is negative.

        Args:
            loss: l1 loss of the shares of values and bots, for example warner.design.theory.expected_loss of the common mechanism.
            background: {tag: l1 loss of its background knowledge}, 2, the most there is, where it is not given.
        """
        if real("loss", loss) < 0:
            raise ArgumentError(message("loss", "must be at least 0", repr(loss)))
        losses = {} if background is None else dict(background)
        for tag, value in losses.items():
            if tag not in self.tag_shares or not 0 <= real(f"background {tag}", value) <= 2:
                raise ArgumentError(
                    message(
                        "background",
                        f"must give an l1 loss in [0, 2] to tags among {', '.join(self.tag_shares)}",
                        f"{tag}: {value}",
                    )
                )
        return loss + sum(
            abs(share) * losses.get(tag, 2.0) for tag, share in self.tag_shares.items()
        )

    def to_json(self) -> dict[str, Any]:
        """The redistributed shares as JSON data."""
        shares = [
            {"value": v, "estimate": float(p)}
            for v, p in zip(self.domain.labels, self.probabilities, strict=True)
        ]
        return {
            "redistributed": {
                "shares": shares,
                "tags": self.tag_shares,
                "worst_case": self.worst_case,
            }
        }

    def interval(
        self,
        level: float = 0.95,
        target: str = "population",
        replicates: int = 200,
        rng: np.random.Generator | None = None,
    ) -> np.ndarray:
        """Bootstrap intervals (K, 2) for the shares, taking the background knowledge as true."""
        return interval(self.estimate, level, target, "bootstrap", self.matrix, replicates, rng)


def has_tags(estimate: Solution) -> bool:
    """Whether an estimate is of values and tags, so that :func:`redistribute` applies to it."""
    return isinstance(estimate.domain, Tagged)


def redistribute(estimate: Solution, background: Mapping[str, Any] | None = None) -> Redistributed:
    """Give the bots' shares back to values: p(x) = r(x) + sum_k r(bot k) pi_k(x).

    Args:
        estimate: from the tally of a Personalized mechanism, over values and bots.
        background: {tag: pi_k (K,)}, the distribution of values that people hide under a tag, where it is known. For other
            tags pi_k is in proportion to r over the values that are not sensitive for everyone; uniform over them where r is 0 there.

    Raises:
        MismatchError: an estimate without tags.
        ArgumentError: an unknown tag, or background knowledge that is not a distribution over the values.

    Source: [P2 eq 22].

    >>> from warner import Integers, Personalized, UtilityOptimizedRR, estimate
    >>> city = Personalized(UtilityOptimizedRR(Integers(0, 9), 2.0, sensitive=[3]), ["home"])
    >>> reports = city.device({"home": [4]}).randomize([4] * 500 + [7] * 500)
    >>> redistribute(estimate(city.tally(reports)), {"home": [0.1] * 10}).probabilities.shape
    (10,)
    """
    if not isinstance(estimate, Solution):
        raise ArgumentTypeError(message("estimate", "must be an Estimate", kind(estimate)))
    tagged = estimate.domain
    if not isinstance(tagged, Tagged):
        raise MismatchError(
            message(
                "estimate",
                "has no tags to redistribute",
                None,
                "It must come from the tally of a Personalized mechanism",
            )
        )
    size = tagged.domain.size
    if background is not None and not isinstance(background, Mapping):
        raise ArgumentTypeError(
            message(
                "background", "must be a dict of tags and their distributions", kind(background)
            )
        )
    known = {} if background is None else dict(background)
    if any(tag not in tagged.tags for tag in known):
        raise ArgumentError(
            message(
                "background",
                f"must be of tags among {', '.join(tagged.tags)}",
                ", ".join(map(str, known)),
            )
        )
    r = estimate.probabilities
    q = getattr(estimate.data.channel, "q", None)
    if q is None:
        raise MismatchError(
            message(
                "estimate",
                "does not say which values are sensitive for everyone",
                None,
                "Estimate from one tally",
            )
        )
    open_ = np.asarray(q[:size]) == 0  # no one but a value itself makes such reports
    if not open_.any():
        open_ = np.ones(
            size, dtype=bool
        )  # everything is sensitive for everyone: no one has use for a tag
    base = np.where(open_, np.maximum(r[:size], 0.0), 0.0)
    total = float(base.sum())
    proportional = base / total if total > 1e-12 else open_ / open_.sum()
    matrix = np.concatenate([np.eye(size), np.zeros((size, len(tagged.tags)))], axis=1)
    for k, tag in enumerate(tagged.tags):
        matrix[:, size + k] = (
            distribution(f"background {tag}", known[tag], size) if tag in known else proportional
        )
    bots = {tag: float(r[size + k]) for k, tag in enumerate(tagged.tags)}
    return Redistributed(
        matrix @ r,
        tagged.domain,
        estimate,
        bots,
        matrix,
        2 * sum(abs(share) for share in bots.values()),
    )
