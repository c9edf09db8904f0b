"""Log-splines: a distribution over ordered values, as smooth as the reports say (METHODS 5)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from warner._core.errors import ArgumentError, message
from warner.channels import on_cells
from warner.estimators.base import Estimator, require_order
from warner.estimators.fit import Fit, PosteriorFit, Status
from warner.estimators.likelihood_data import MANY_ROWS, LikelihoodData
from warner.estimators.log_spline.cells import MOST_CELLS, cells_for
from warner.estimators.log_spline.few_reports import averaged, weight_of_smoothed_em
from warner.estimators.log_spline.likelihood import Expansion, Likelihood
from warner.estimators.log_spline.model_average import Draws, fit_grid
from warner.estimators.log_spline.model_average import posterior as posterior_of
from warner.estimators.mle.objective import certify, require_possible
from warner.estimators.mle.uniqueness import Uniqueness

_TINY = 1e-12  # probabilities of models below this do not count
_EXPANSIONS, _SETTLED = 5, 0.01  # the most expansions, and the change in l1 that ends them


@dataclass(frozen=True)
class LogSpline(Estimator):
    """A smooth distribution over ordered values: log theta is a penalised cubic spline.

        theta = softmax(X phi),   phi* = argmax  n l(softmax(X phi)) + log prior(phi)
        X phi = polynomial of degree < p  +  spline with white p-th differences  +  an atom per end
        log Z = n l + log prior - 1/2 log det(H / 2 pi)

    X (K, P) are the columns of the model, phi (P,) their coefficients, and l the log-likelihood in
    nats per report. H is the Hessian of -(n l + log prior) at phi*. Differences of order p = 3
    leave normal shapes, whose logarithm is quadratic, unpenalised. p = 2 leaves exponential shapes
    unpenalised, and p = 1 the uniform shape. Small p suits jumps and spikes, large p smooth shapes.
    Every (p, s) is a model with a proper prior. The spline's coefficients are normal; s is their
    standard deviation over the domain, in units of log theta. The polynomial and each atom have
    Cauchy(0, 1) priors. The atoms are the excess of the first and of the last value, where clipping
    puts mass.

    The estimate averages the models' theta at phi*, weighted by their Laplace evidence Z. A priori
    p is uniform on {1, 2, 3}, and s has a density proportional to s^(-1/2). The number of splines
    is doubled while that raises the evidence. Values are taken as equally spaced, in their order.

    With few reports smoothed EM is averaged in, with the weight 0.7 max(0, 1 - 0.05 / sigma). sigma
    is the standard error of the slope of log theta over the values, which are scaled to mean square
    1. From 256 values smoothed EM has 128 to 255 cells. The draws are multiplied by the same
    factors as the estimate.

    Above 512 values very many whole reports of bits count by their sums. Above 2048 values the
    likelihood is computed with shares that are even within about 2000 cells. Prior, spline and
    estimate are on all values.

    Where silence is a value of its own, log theta of silence is a coefficient with a Cauchy(0, 1)
    prior, and the spline is over the other values. Both
    together are at most 2048.

    The fit's ``posterior`` draws (count, K) distributions from the Laplace posterior. Quantiles
    over the draws give intervals for smooth functionals (mean, quantile, mass of a range). A draw
    chooses a model by its weight, and then a normal u = X (phi - phi*) with covariance X H^-1 X'.
    theta is proportional to theta* (u + sqrt(1 + u^2)). This is theta* exp(u) to second order, and
    it stays small where theta* is almost 0. Intervals from draws are valid if log theta is smooth.
    At jumps, near a border that has much of the mass, and for single shares, they do not include
    the error of smoothing. So means, variances, quantiles and ranges have other intervals by
    default (:mod:`warner.results.linear_limits`).

    Raises:
        ArgumentError: the domain's values have no order, or are not on one line.
        ImpossibleReportError: a report was seen that has probability 0 under every value.

    Source: METHODS 5, 7; Eilers and Marx (1996) for the penalty, Gelman (2006) for the prior of s.

    >>> LogSpline()
    LogSpline()
    """

    references = ("eilers1996", "gelman2006")

    summary: ClassVar[str] = (
        "penalised maximum of the likelihood, the penalty chosen by marginal likelihood: smoother "
        "than the maximum of the likelihood; if values next to each other should not be alike, use "
        "MaximumLikelihood() instead"
    )

    def _fit(self, data: LikelihoodData) -> Fit:
        require_order(data.domain.answered, "LogSpline")
        silence = data.domain.silence is not None
        if silence and data.domain.size > MOST_CELLS:
            rule = f"of LogSpline with silence must have at most {MOST_CELLS} values"
            remedy = "Use EmpiricalBayes(), or wider bins"
            raise ArgumentError(message("domain", rule, str(data.domain.size), remedy))
        counted = data.by_sums()
        cells = None if silence else cells_for(counted.channel)
        if cells is None:
            rows, weights = counted.channel.restrict_to_observed(counted.weights)
        else:
            rows, weights = on_cells(counted.channel, counted.weights, cells.index)
        require_possible(rows, weights)
        likelihood = Likelihood(rows, weights, data.n * rows.rows_per_report)
        expand = (
            (steady := rows.nearly_constant()) is not None
            and bool(steady.steady.all())
            and rows.shape[0] > MANY_ROWS * rows.shape[1]
        )
        theta = np.full(rows.shape[1], 1 / rows.shape[1])
        for _ in range(_EXPANSIONS):
            if expand:
                likelihood = Expansion(
                    rows, weights, likelihood.count, likelihood.steps, centre=theta
                )
            models = fit_grid(likelihood, cells, silence)
            # A model whose maximum was not found is left out, unless there is no other.
            models = [model for model in models if model.converged] or models
            chances = posterior_of(models)
            before, theta = theta, chances @ np.stack([model.theta for model in models])
            if not expand or np.abs(theta - before).sum() < _SETTLED:
                break
        if cells is not None:
            theta = np.zeros(cells.size)
            for model, chance in zip(models, chances, strict=True):
                if chance > _TINY:
                    theta += chance * model.design.theta_of_values(model.phi)
        theta, tilt = theta / theta.sum(), None
        if (weight := weight_of_smoothed_em(likelihood, cells, silence)) > 0:
            smooth, theta = theta, averaged(data, theta, weight)
            tilt = theta / np.maximum(smooth, np.finfo(float).tiny)
        status = Status.COMPLETED if models[0].converged else Status.STEP_LIMIT
        fit = certify(data, theta, status, likelihood.steps)
        # With fewer different reports than values, what they leave open is the prior's word alone.
        few = data.channel.shape[0] < data.channel.shape[1]
        unique = Uniqueness.NOT_UNIQUE.value if few else None
        draws = Draws(models, chances, tilt)
        posterior = PosteriorFit(draws, True, draws.one_by_one, draws.by_values)
        return replace(fit, unique=unique, posterior=posterior)
