"""``estimate``: the one call from tallies to an estimate, with a recommended method."""

from __future__ import annotations

from collections.abc import Iterable

from warner._check import ArgumentTypeError, kind, message
from warner.domain import Domain, Integers, Interval
from warner.estimate import Estimate
from warner.estimators import Estimator, Inversion, LogSpline
from warner.evidence import evidence
from warner.tally import Tally


def estimate(tally: Tally | Iterable[Tally], method: Estimator | None = None) -> Estimate:
    """Estimate the distribution of the true values from the tally of their reports.

    Args:
        tally: a tally, or several: those of one mechanism are added, those of different mechanisms or budgets on one
            domain are estimated from together.
        method: an estimator such as ``MaximumLikelihood()``; None for the recommended one, see :func:`recommended`.

    Returns:
        Estimate: probabilities (K,) in the domain's order, with status, gap where a likelihood was maximised, and intervals.

    Raises:
        MismatchError: tallies that do not belong together.
        EmptyError: no reports.
        IdentifiabilityError: the method inverts the channel and it has no inverse.

    >>> from warner import Integers, UnaryEncoding
    >>> oue = UnaryEncoding(Integers(0, 3), 2.0, keep="optimized")
    >>> estimate(oue.tally(oue.randomize([0, 1, 2, 3] * 500))).probabilities.shape
    (4,)
    """
    if not isinstance(method, Estimator | None):
        raise ArgumentTypeError(message("method", "must be an estimator object", kind(method), "For example MaximumLikelihood()"))
    facts = evidence(tally)
    chosen = recommended(facts.domain) if method is None else method
    return Estimate(chosen.fit(facts), facts, chosen)


def recommended(domain: Domain) -> Estimator:
    """The method that is used where none is named.

    Numbers in order (Integers, Interval): ``LogSpline()``, because neighbours tell about each other; it errs less than smoothed EM and the
    likelihood on all but a few isolated spikes (bench/logspline_against_smoothed_em). Everything else: ``Inversion("project")``, the unbiased
    estimate projected on the simplex, in closed form for every mechanism.

    >>> from warner import Categorical, Interval
    >>> recommended(Interval(0, 1, 64)), recommended(Categorical(["a", "b"]))
    (LogSpline(), Inversion(constraint='project'))
    """
    return LogSpline() if isinstance(domain, Integers | Interval) else Inversion("project")
