"""The method that is recommended for a domain and a channel."""

from __future__ import annotations

import numpy as np

from warner.channels import LikelihoodOperator
from warner.domains import Domain, Grid, Integers, Interval, Points, Product
from warner.estimators import (
    EmpiricalBayes,
    Estimator,
    ExpectationMaximization,
    Inversion,
    KeyMeans,
    LogSpline,
    MaximumLikelihood,
    PerKey,
)
from warner.estimators.fit import Fit

_TABLE = 1000  # combinations of several attributes' values up to which the maximum of the likelihood is taken


def rules_out(smooth: Fit, best: Fit) -> bool:
    """Whether the maximum of the likelihood is above a smooth fit by more than its freedom explains.

    With m shares above 0, twice the difference would be chi-square of about m degrees: mean m, standard deviation sqrt(2 m). Six of
    those are allowed. (Smooth shapes stay within two, whatever mechanism and n.)
    """
    free = int(np.count_nonzero(best.shares))
    rise = 2 * ((best.log_likelihood or 0.0) - (smooth.log_likelihood or 0.0))
    return rise > free + 6 * float(np.sqrt(2 * free))


def recommended(domain: Domain, channel: LikelihoodOperator | None = None) -> Estimator:
    """The method that is used where none is named.

    Numbers in order (Integers, Interval): ``LogSpline()``, because neighbours tell about each other; it errs less than smoothed EM and the
    likelihood on all but a few isolated spikes (bench/logspline_against_smoothed_em); where the likelihood rules smoothness out, as of whole
    numbers that come in threes, :func:`estimate` takes ``MaximumLikelihood()`` instead. Places (Grid, Points): ``ExpectationMaximization("auto")``,
    because noise between places that are close cannot be inverted; it errs less than inversion and the likelihood's maximum
    (bench/likelihood_beats_inversion_on_places). Keys with values, known by their channel: ``PerKey()``, or ``KeyMeans()`` where values are
    rounded, which tells means only.

    Several attributes, each randomised on its own: ``MaximumLikelihood()`` up to 1000 combinations of values, which on all tables of Adult errs no
    more than inversion, and less wherever that leaves the simplex (bench/joint_tables_of_adult); beyond, where reports hardly tell combinations
    apart and the maximum takes long, ``ExpectationMaximization("auto", start="independent")``. That errs less over all on the smaller tables
    too, but more than inversion on some, up to half as much again. Randomised together (one report of a Product): ``EmpiricalBayes(order=False)``.

    Labels (everything else): ``EmpiricalBayes()``, because shares tell each other what shares look like, and their order tells of neighbours where
    the reports show that it does. In the league (bench/accuracy) its squared error is within 10 % of the best method's in nine cells of ten. Up
    to 7 values, where there is too little to learn a prior from, it is the exact posterior under a mixture of Dirichlet laws; there, with
    few reports, other methods may err up to a third less. Answers that were sent as they are: ``Inversion("project")``, their shares.

    >>> from warner import Categorical, Grid, Interval
    >>> recommended(Interval(0, 1, 64)), recommended(Grid(4, 4)), recommended(Categorical(["a", "b"])) == EmpiricalBayes()
    (LogSpline(), ExpectationMaximization(steps='auto'), True)
    """
    if channel is not None and channel.sends_true_values():
        return Inversion("project")
    if channel is not None and channel.is_keyed:
        return KeyMeans() if channel.tells_means_only else PerKey()
    if isinstance(domain, Integers | Interval):
        return LogSpline()
    if isinstance(domain, Product):
        if channel is not None and all(
            group.factors(domain.shape) is None for group in channel.groups()
        ):
            return EmpiricalBayes(order=False)
        return (
            MaximumLikelihood()
            if domain.size <= _TABLE
            else ExpectationMaximization("auto", start="independent")
        )
    return (
        ExpectationMaximization("auto") if isinstance(domain, Grid | Points) else EmpiricalBayes()
    )
