"""The properties of an estimator: its shares, its status, its certificate, on many channels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np

from warner._core.checks import kind
from warner._core.errors import ArgumentTypeError, WarnerError
from warner.design.own_sampler import Broken, NotApplicable, require
from warner.domains import Categorical, Domain, Integers, Interval, Product
from warner.estimators import Estimator, MaximumLikelihood
from warner.estimators.base import (
    Fit,
    LikelihoodData,
    Status,
    log_likelihood_at,
    require_fit,
    threads_for,
)
from warner.mechanisms import (
    HadamardResponse,
    KeyValue,
    LocalHashing,
    Mechanism,
    PerAttribute,
    RandomizedResponse,
    Repeated,
    SquareWave,
    SubsetSelection,
    UnaryEncoding,
)
from warner.reports.tally import Tally
from warner.results.estimate import Estimate
from warner.results.from_tally import likelihood_data
from warner.testing.mechanisms import Checked, checked

_PEOPLE = 5_000
_MANY = 10**12  # people, whose reports have the expected frequencies
_ROUNDING = 1e-9  # of shares and of their sum
_NEAR = 1e-4  # of a share; the methods of the package are nearer than 1e-5
_NATS = 1e-6  # rounding errors of a log-likelihood over all reports


def check_estimator(
    estimator: Estimator, problems: Mapping[str, LikelihoodData] | None = None
) -> Checked:
    """Check the properties that results, intervals and comparisons rely on, for your own estimator.

    The problems are reports of randomised response, unary encoding (bit sums and whole reports),
    local hashing, subsets, Hadamard response, the square wave, two budgets together, several
    reports a person, two attributes, and keys with values. Two more are as small as can be: one
    report, and reports that are all alike. An estimator may refuse a problem with an error of
    warner; it must take at least one.

    - Shares are finite, of shape (K,), at least 0 with the sum 1, or the status says that they lie
      outside the simplex. The status is a ``Status``. A method without shares has a mean or keys
      in their place.
    - A stated gap is at least the true distance from the largest log-likelihood, and a stated
      log-likelihood is that of the shares.
    - The same reports give the same shares.
    - Intervals, tables and JSON can be made.
    - The estimator is immutable, hashable and equal to an equal one; its summary is text.

    - The shares of 10^12 people, whose reports have exactly the frequencies of the channel, are the
      true ones within 0.0001, unless the class says ``is_consistent = False``.

    How near the truth the shares of fewer people are is measured by :func:`warner.benchmark`.

    Args:
        estimator: any estimator.
        problems: {name: reports}, problems of your own in place of those above; see
            :func:`warner.results.from_tally.likelihood_data`.

    Returns:
        Checked: a finding for each property; ``print`` shows them, with the problems refused.

    Raises:
        PropertyError: some properties do not hold; the message says which, on which problem, and
            how far they are from holding.
        ArgumentTypeError: not an estimator.

    >>> from warner import MaximumLikelihood
    >>> check_estimator(MaximumLikelihood()).failures
    ()
    """
    if not isinstance(estimator, Estimator):
        rule, remedy = "must be an estimator", "For example Inversion('project')"
        raise ArgumentTypeError("estimator", rule, kind(estimator), remedy)
    subject = _Subject(estimator, _problems() if problems is None else dict(problems))
    return checked(
        repr(estimator),
        [
            ("it runs", subject.runs),
            ("shares are a distribution, or the status says that they are not", subject.valid),
            ("the shares of very many people are the true ones", subject.consistency),
            ("the gap and the log-likelihood are right", subject.certificate),
            ("equal reports give equal shares", subject.determinism),
            ("intervals, tables and JSON can be made", subject.results),
            ("the estimator describes itself", subject.description),
        ],
    )


@lru_cache(maxsize=1)
def _problems() -> dict[str, LikelihoodData]:
    """Problems of one distribution, by the mechanism of their reports."""
    numbers: Domain = Integers(0, 5)
    theta = np.array([0.4, 0.3, 0.15, 0.1, 0.05, 0.0])
    single: dict[str, Mechanism] = {
        "randomised response": RandomizedResponse(numbers, 1.5),
        "unary encoding": UnaryEncoding(numbers, 1.5, variant="oue"),
        "local hashing": LocalHashing(numbers, 1.5, seeds=32),
        "subsets": SubsetSelection(numbers, 1.5),
        "Hadamard response": HadamardResponse(numbers, 1.5),
        "square wave": SquareWave(Interval(0.0, 1.0, 6), 1.5),
        "three reports a person": Repeated(RandomizedResponse(numbers, 0.7), 3),
        "two attributes": PerAttribute(
            Product(sex=Categorical(["f", "m"]), age=Integers(0, 2)),
            {
                "sex": lambda domain: RandomizedResponse(domain, 1.5),
                "age": lambda domain: UnaryEncoding(domain, 1.5),
            },
        ),
        "keys with values": KeyValue(Categorical(["a", "b"]), Integers(0, 2), 3.0),
    }
    coin, oue = single["randomised response"], single["unary encoding"]
    problems = {name: likelihood_data(_tally(each, theta)) for name, each in single.items()}
    problems["whole reports of bits"] = likelihood_data(_tally(oue, theta, keep_reports=True))
    both = [_tally(RandomizedResponse(numbers, epsilon), theta) for epsilon in (0.5, 2.0)]
    problems["two budgets"] = likelihood_data(both)
    problems["one report"] = likelihood_data(coin.tally(coin.reports([2])))
    problems["reports all alike"] = likelihood_data(coin.tally(coin.reports([2] * 1000)))
    return problems


def _tally(mechanism: Mechanism, theta: np.ndarray, **options: Any) -> Tally:
    rng = np.random.default_rng(0)
    answers = mechanism.domain.decode(rng.choice(len(theta), _PEOPLE, p=theta))
    return mechanism.tally(mechanism.randomize(answers, rng), **options)


def _uneven(size: int) -> np.ndarray:
    """Shares (K,) above 0 that differ from each other, so that a permutation of them is seen."""
    shares = np.arange(size, 0.0, -1) + np.resize([0.0, 2.0], size)
    return np.asarray(shares / shares.sum())


def _fitted(estimator: Estimator, data: LikelihoodData) -> Fit:
    """The fit as it is, because ``fit`` refuses a wrong one before its properties are checked."""
    with threads_for(data):
        fit: object = estimator._fit(data)
    if not isinstance(fit, Fit):
        raise TypeError(f"_fit returned {kind(fit)}, not a Fit")
    return fit


@dataclass
class _Subject:
    """An estimator whose properties are checked on several problems."""

    estimator: Estimator
    problems: dict[str, LikelihoodData]
    fits: dict[str, Fit] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)

    def runs(self) -> str:
        broken = []
        for name, data in self.problems.items():
            try:
                self.fits[name] = _fitted(self.estimator, data)
            except WarnerError as refusal:
                self.refused[name] = str(refusal)
            except Exception as problem:
                broken.append(f"on {name} the estimator raised {type(problem).__name__}: {problem}")
        more = f"; and on {len(broken) - 2} more" if len(broken) > 2 else ""
        require(not broken, "; ".join(broken[:2]) + more)
        reason = next(iter(self.refused.values()), "there are no problems")
        require(bool(self.fits), f"the estimator refuses every problem: {reason}")
        left = "".join(f"; refused {name}: {text}" for name, text in self.refused.items())
        return f"on {len(self.fits)} of {len(self.problems)} problems{left}"

    def _shares(self) -> dict[str, np.ndarray]:
        """The shares of the problems, where shares are estimated."""
        shares = {n: f.probabilities for n, f in self.fits.items() if f.probabilities is not None}
        if not shares:
            raise NotApplicable("no shares are estimated")
        return shares

    def valid(self) -> str:
        for name, fit in self.fits.items():
            data = self.problems[name]
            require_fit(f"the fit on {name}", fit, data.domain.size, data.n, _ROUNDING)
        statuses = dict.fromkeys(fit.status.name for fit in self.fits.values())
        return f"on {len(self.fits)} problems; {', '.join(statuses)}"

    def consistency(self) -> str:
        if not self.estimator.is_consistent:
            raise NotApplicable("the class says is_consistent = False")
        compared = 0
        for name in self._shares():
            data, truth = self.problems[name], _uneven(self.problems[name].domain.size)
            exact = replace(data, weights=data.channel.matvec(truth), n=_MANY)
            try:
                # Neither where rows of unseen reports are absent, nor where shares look the same.
                if not np.allclose(data.channel.invert(exact.weights), truth, atol=_NATS):
                    continue
                fit = _fitted(self.estimator, exact)
            except WarnerError:
                continue
            if fit.probabilities is None or fit.probabilities.shape != truth.shape:
                continue  # said above
            compared += 1
            off = float(np.abs(fit.shares - truth).max())
            rule = (
                f"on {name} a share is off by {off:.3g}, although 10^12 people report, exactly as "
                "often as the channel says"
            )
            remedy = (
                "if the method smooths or stops early, write is_consistent = False in its class"
            )
            require(off <= _NEAR, f"{rule}; {remedy}")
        if not compared:
            raise NotApplicable("no problem has all reports, and an inverse")
        return f"within {_NEAR} on {compared} problems without noise"

    def certificate(self) -> str:
        stated = 0
        for name, shares in self._shares().items():
            fit, data = self.fits[name], self.problems[name]
            if fit.status is Status.CONVERGED:
                require(
                    fit.gap is not None,
                    f"on {name} the status is CONVERGED, but the fit states no gap",
                )
            if fit.gap is None:
                continue
            stated += 1
            require(fit.gap >= 0, f"on {name} the gap is negative, {fit.gap:.3g}")
            best = MaximumLikelihood().fit(data).log_likelihood
            reached = fit.log_likelihood
            if fit.status is not Status.OUTSIDE_SIMPLEX:
                reached = float(log_likelihood_at(data, shares / shares.sum()))
                said = reached if fit.log_likelihood is None else fit.log_likelihood
                off = 0.0 if said == reached else abs(said - reached)
                rule = f"on {name} the log-likelihood is off by {off:.3g} nats"
                require(off <= _NATS * (1 + abs(reached)), rule)
            if best is None or reached is None:
                continue
            short = best - reached - fit.gap * data.n
            rule = f"on {name} the log-likelihood is {best - reached:.6g} nats below the largest"
            stated_gap = f"but the gap says {fit.gap * data.n:.6g}"
            require(short <= _NATS * (1 + abs(best)), f"{rule}, {stated_gap}")
        if not stated:
            raise NotApplicable("no gap is stated")
        return f"on {stated} problems"

    def determinism(self) -> str:
        for name, shares in self._shares().items():
            again = _fitted(self.estimator, self.problems[name]).shares
            off = float(np.abs(again - shares).max())
            require(off == 0, f"on {name} a second fit differs by {off:.3g}; use a fixed seed")
        return f"on {len(self._shares())} problems"

    def results(self) -> str:
        for name, fit in self.fits.items():
            if fit.probabilities is None or name == "keys with values":
                continue
            result = Estimate(fit, self.problems[name], self.estimator)
            try:
                bounds = np.array([[row["low"], row["high"]] for row in result.rows()])
                result.to_json()
            except Exception as problem:
                text = f"on {name} the table raised {type(problem).__name__}: {problem}"
                raise Broken(text) from problem
            crossed = int((bounds[:, 0] > bounds[:, 1]).sum())
            require(not crossed, f"on {name} {crossed} intervals have low above high")
        return f"on {len(self.fits)} problems"

    def description(self) -> str:
        estimator = self.estimator
        summary = estimator.summary
        require(bool(summary), "summary is empty; say in a sentence what the method computes")
        require(not summary.endswith("."), "summary ends with a full stop")
        require(
            hash(estimator) == hash(estimator) and estimator == estimator,
            "the estimator is not hashable",
        )
        options = getattr(type(estimator), "__dataclass_params__", None)
        frozen = options is not None and options.frozen
        require(frozen, "the class is not a frozen dataclass; write @dataclass(frozen=True)")
        return repr(estimator)
