"""The method that is recommended for a domain and a channel."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from statistics import NormalDist
from typing import Any, TypeVar, overload

import numpy as np

from warner import estimators
from warner._core.checks import kind, show
from warner._core.errors import ArgumentError, ArgumentTypeError, IdentifiabilityError, message
from warner._core.names import CONSTRAINTS_ELSEWHERE, called_here, home_of, known_elsewhere
from warner._core.text import meant
from warner.channels import HashPool, LikelihoodOperator, SupportChannel
from warner.domains import Domain
from warner.estimators.base import Estimator, Fit, LikelihoodData, certify
from warner.estimators.inversion import SYNONYMS, Inversion
from warner.mechanisms import MECHANISMS, Mechanism
from warner.mechanisms.headers import add_mechanism, forget_built, same_definition
from warner.reports.tally_kinds import DistinctReports

_MOST_VALUES = 2**20  # the recommended methods need about a kilobyte of memory for each value
_MOST_WITH_NONRESPONSE = (
    2048  # values and nonresponse, up to which a log-spline has nonresponse beside it
)
# Standard deviations of twice the difference of two log-likelihoods that smoothness may cost.
_ALLOWED = 6
# Values above which the largest errors alone stay above 0.
_MANY = 512


def rules_out(smooth: Fit, best: Fit) -> bool:
    """Whether the reports contradict a smooth distribution.

    Twice the difference of the log-likelihoods of the best fit and a smooth fit would be about
    chi-square with m degrees of freedom, m the number of shares above 0. The answer is whether it
    exceeds the mean by six standard deviations: smooth distributions stayed within five. Of many
    values only the m largest errors of K stay above 0, so the moments of these are taken.
    """
    free = int(np.count_nonzero(best.shares))
    rise = 2 * ((best.log_likelihood or 0.0) - (smooth.log_likelihood or 0.0))
    mean, variance = float(free), 2.0 * free
    if best.shares.size > _MANY and 0 < 2 * free < best.shares.size:
        tail = free / best.shares.size
        c = NormalDist().inv_cdf(1 - tail)
        height = NormalDist().pdf(c)
        mean = free * (1 - c**2 + c * height / tail)
        fourth = 3 + (c**3 + 3 * c) * height / tail
        variance = free * (fourth - 2 * c**2 * (1 + c * height / tail) + c**4)
    return rise > mean + _ALLOWED * float(np.sqrt(variance))


def recommended(domain: Domain, channel: LikelihoodOperator | None = None) -> Estimator:
    """Return the estimator that :func:`warner.estimate` uses where none is named.

    - Numbers in order (Integers, Interval): ``LogSpline()``, because neighbouring values have
      similar shares. It errs less than smoothed EM and maximum likelihood in the distribution
      function (bench/leaderboard). If the reports contradict a smooth distribution,
      :func:`warner.estimate` takes ``MaximumLikelihood()`` instead. Where nonresponse is a value of
      its own, it stands beside the smooth shares.
    - Places (Grid, Points): ``ExpectationMaximization("auto")``, because noise between places that
      are close cannot be inverted. It errs less than inversion and maximum likelihood
      (experiments P4/fig9 to P4/fig11).
    - Keys with values: ``PerKey()``, or ``KeyMeans()`` where values are rounded, because such
      reports identify means only.
    - Several attributes that are randomised separately, or of which each person was asked some:
      ``RakedJoint()``, with the recommended method for each single attribute. Its margins of one
      and two attributes agree with separate estimates, as far as one table can have them all. It
      errs less than maximum likelihood and than early-stopped EM on the whole table
      (bench/joint_margins).
    - Several attributes in one report of a Product: ``EmpiricalBayes(order=False)``.
    - Labels: ``EmpiricalBayes()``, which learns from all shares how large shares are, and from
      their order where the reports show that neighbours are alike. On real data no other
      estimator errs less over all (bench/leaderboard). Up to 7 values it
      is the exact posterior under a mixture of Dirichlet distributions, in which values may be
      rare or absent. At every share of yes or no, its squared error is at most 1.12 times that of
      the projected inversion from epsilon 0.5 to 4, and 1.14 times at 0.2; over a grid of the
      distributions of 3, 5 and 7 values, at most 1.20 and 1.26 times
      (bench/few_values_err_little, 2,000 people).
    - Designs for paper (:mod:`warner.designs`): ``MaximumLikelihood()``. Its shares are those that
      survey research reports: the moment estimate, within 0 and 1.
    - Answers that were sent unchanged: ``Inversion("project")``, which gives the answers' shares.
    - Weighted reports of several mechanisms: ``Inversion("project")``, in which each person counts
      by her weight. Likelihoods would let the surer mechanism count for more.

    >>> from warner import Categorical, Grid, Interval
    >>> recommended(Interval(0, 1, 64)), recommended(Grid(4, 4))
    (LogSpline(), ExpectationMaximization(steps='auto'))
    >>> recommended(Categorical(["a", "b"])) == estimators.EmpiricalBayes()
    True
    """
    law = None if channel is None else channel.support_law()
    is_sent = law is not None and not law.q.any()
    if channel is not None and (
        channel.mix == "people" or (channel.reports_are_values and is_sent)
    ):
        return Inversion("project")
    if channel is not None and channel.is_on_paper:
        return estimators.MaximumLikelihood()
    if channel is not None and channel.is_keyed:
        return estimators.KeyMeans() if channel.tells_means_only else estimators.PerKey()
    if domain.is_ordered or (domain.answered.is_ordered and domain.size <= _MOST_WITH_NONRESPONSE):
        return estimators.LogSpline()
    if domain.attributes:
        if channel is not None and all(
            group.factors(domain.shape) is None
            and all(group.tells_about([axis]) for axis in range(len(domain.shape)))
            for group in channel.groups()
        ):
            return estimators.EmpiricalBayes(order=False)
        return estimators.RakedJoint(single=fit_alone)
    return (
        estimators.ExpectationMaximization("auto")
        if domain.dimension
        else estimators.EmpiricalBayes()
    )


def recommended_fit(data: LikelihoodData) -> tuple[Estimator, Fit]:
    """The recommended estimator for the data, and its fit."""
    if data.domain.size > _MOST_VALUES:
        rule = f"must be at most {_MOST_VALUES:,} for the recommended method"
        remedy = "Choose the method project: -m project in a command, 'project' in Python"
        raise ArgumentError("number of values", rule, f"{data.domain.size:,}", remedy)
    smooth = recommended(data.domain, data.channel)
    fit = smooth.fit(data)
    # Labels have no order, and need no module for it.
    if data.domain.answered.is_ordered and smooth == estimators.LogSpline():
        # Some counts are not smooth, such as ages that people round to tens. Where the likelihood
        # rules smoothness out, its maximum is the estimate.
        sharp, counted = estimators.MaximumLikelihood(), data.for_test_of_smoothness()
        best = sharp.fit(counted)
        of_sums = fit if counted is data else certify(counted, fit.shares, fit.status, None)
        gain = 0.0 if fit.posterior is None else fit.posterior.gain
        of_sums = replace(of_sums, log_likelihood=(of_sums.log_likelihood or 0.0) + gain)
        if rules_out(of_sums, best):
            return sharp, best if counted is data else sharp.fit(data)
    return smooth, fit


def fit_alone(data: LikelihoodData) -> Fit:
    """The recommended fit of one attribute, as ``RakedJoint`` takes it."""
    return recommended_fit(data)[1]


# -----------------------------------------------------------------------------------------------
# The names that estimators have in Python and on the command line, such as ``mle``.


# Where EM starts, by the word behind ``em:``; it then runs until a step gains less than _SETTLED
# nats over all reports.
_STARTS: dict[str, str | Estimator] = {
    "histogram": "histogram",
    "threshold": Inversion("threshold"),
}
_SETTLED = 1e-3


def _named(name: str, *arguments: Any, **options: Any) -> Estimator:
    """Make an estimator of the package, whose module is imported when it is first asked for."""
    made: Estimator = attrgetter(name)(estimators)(*arguments, **options)
    return made


@dataclass(frozen=True)
class Method:
    """What a name makes, and the tallies of which it is compared where no method is named."""

    make: Callable[..., Estimator]
    compared: str = ""  # words of SHARES, KEYS and MEANS; none where a comparison must name it
    forms: tuple[str, ...] = ()  # what stands behind the colon where the method is compared

    def __call__(self, *arguments: Any) -> Estimator:
        return self.make(*arguments)


SHARES, KEYS, MEANS = "shares", "keys", "means"

# ``em`` takes a number of steps, "auto" or one of _STARTS: em:100, em:auto, em:histogram.
METHODS: dict[str, Method] = {
    "inversion": Method(partial(_named, "Inversion"), SHARES),
    "project": Method(partial(_named, "Inversion", "project"), SHARES),
    "normalize": Method(partial(_named, "Inversion", "normalize")),
    "norm-cut": Method(partial(_named, "Inversion", "norm-cut"), SHARES),
    "threshold": Method(partial(_named, "Inversion", "threshold"), SHARES),
    "mle": Method(partial(_named, "MaximumLikelihood"), f"{SHARES} {KEYS}"),
    "em": Method(
        partial(_named, "ExpectationMaximization"), f"{SHARES} {KEYS}", forms=("100", "auto")
    ),
    "mean": Method(partial(_named, "SampleMean"), MEANS),
    "ems": Method(partial(_named, "literature.SmoothedEM")),
    "spline": Method(partial(_named, "LogSpline"), SHARES),
    "mr": Method(partial(_named, "literature.MixtureReduction")),
    "wiener": Method(partial(_named, "literature.WienerFilter")),
    "eb": Method(partial(_named, "EmpiricalBayes"), SHARES),
    "eb-median": Method(partial(_named, "EmpiricalBayes", "absolute")),
    "bias": Method(partial(_named, "literature.BiasCorrection")),
    "em-independent": Method(
        partial(_named, "ExpectationMaximization", "auto", start="independent")
    ),
    "independent": Method(partial(_named, "Independent")),
    "raked": Method(partial(_named, "RakedJoint", fit_alone)),
    "pckv": Method(partial(_named, "KeyMeans"), KEYS),
    "per-key": Method(partial(_named, "PerKey"), KEYS),
    "uniform": Method(partial(_named, "Uniform"), SHARES),
    "observed": Method(partial(_named, "Observed")),
}


# Names of the literature for methods: some have another name here, some stand for two methods.
_ELSEWHERE = {
    "ibu": "em",
    "inv": "inversion",
    "iiw": "wiener",
    "inv-p": "project",
    "inv-n": "normalize",
}
_TO_THE_END = "To run the method to its end, write 'mle'. To stop after 100 steps, write 'em:100'"
_OF_TWO = {"em": _TO_THE_END, "ibu": _TO_THE_END}


def compared(kinds: Collection[str] | None) -> tuple[str, ...]:
    """The names that are compared where none is named: of kinds of tallies, or, by None, all.

    >>> compared({KEYS})
    ('mle', 'em:100', 'em:auto', 'pckv', 'per-key')
    """
    return tuple(
        form
        for name, entry in METHODS.items()
        if kinds is None or not set(entry.compared.split()).isdisjoint(kinds)
        for form in ([f"{name}:{form}" for form in entry.forms] or [name])
    )


def estimator_of(chosen: Estimator | str) -> Estimator:
    """The estimator that an argument means: itself, or the one that its name stands for.

    >>> estimator_of("mle") == estimator_of(estimators.MaximumLikelihood())
    True
    """
    if isinstance(chosen, Estimator):
        return chosen
    if isinstance(chosen, str):
        return method(chosen)
    rule = "must be an estimator object, or the name of one"
    remedy = "For example MaximumLikelihood() or 'mle'"
    raise ArgumentTypeError("method", rule, kind(chosen), remedy)


def estimators_of(methods: Sequence[Estimator | str]) -> list[Estimator]:
    """The estimators of a list of estimators and names."""
    alone = isinstance(methods, Estimator | str)
    if alone or not isinstance(methods, Sequence) or not methods:
        rule, remedy = "must be a list of estimators", "For example [MaximumLikelihood(), 'eb']"
        is_empty = isinstance(methods, Sequence) and not methods
        got = "an empty list" if is_empty else kind(methods)
        raise ArgumentTypeError("methods", rule, got, remedy)
    for each in methods:
        if not isinstance(each, Estimator | str):
            rule = "must all be estimators, or names such as 'mle'"
            remedy = f"Write {each.__name__}()" if isinstance(each, type) else None
            raise ArgumentTypeError("methods", rule, kind(each), remedy)
    return [estimator_of(each) for each in methods]


def method(name: str) -> Estimator:
    """The estimator that a name stands for.

    >>> method("em:50"), method("em:auto")
    (ExpectationMaximization(steps=50), ExpectationMaximization(steps='auto'))
    >>> method("em:histogram")
    ExpectationMaximization(start='histogram', tolerance=0.001)
    >>> method("norm-sub")
    Inversion(constraint='project')
    """
    word, _, detail = name.lower().replace("_", "-").partition(":")
    word = SYNONYMS.get(word) or _ELSEWHERE.get(word) or word
    if word == "em" and detail in _STARTS:
        return estimators.ExpectationMaximization(start=_STARTS[detail], tolerance=_SETTLED)
    if (
        word not in METHODS
        or (word == "em") != bool(detail)
        or (detail and not detail.isdecimal() and detail != "auto")
    ):
        em = ("em:100", "em:auto", *(f"em:{start}" for start in _STARTS))
        names = [n for each in METHODS for n in (em if each == "em" else (each,))]
        if remedy := _OF_TWO.get(name.lower()):
            raise ArgumentError("method", "must say when it stops", show(name), remedy)
        here = CONSTRAINTS_ELSEWHERE.get(word)
        if here is None and (called_here(name) or not home_of(name)):  # "GRR", a mechanism
            here = known_elsewhere(name)
        remedy = f"The names are {', '.join(METHODS)}"
        if word == "em":
            remedy = f"Write {', '.join(em[:-1])} or {em[-1]}"
        elif here or meant(name, names):
            remedy = here.removesuffix(".") if here else meant(name, names)
        raise ArgumentError("method", "must name a method, such as mle or eb", show(name), remedy)
    if detail:
        return METHODS[word](int(detail) if detail.isdecimal() else detail)
    return METHODS[word]()


def add_method(name: str, make: Callable[[], Estimator]) -> None:
    """Give an estimator a name, in Python and on the command line."""
    if not isinstance(name, str) or not re.fullmatch("[a-z][a-z0-9-]*", name):
        rule, remedy = "must be lower-case letters, digits and hyphens", "For example 'my-method'"
        raise ArgumentError("name", rule, show(name), remedy)
    registered = METHODS.get(name)
    taken = name in {**SYNONYMS, **_ELSEWHERE}
    if taken or (registered is not None and not same_definition(registered.make, make)):
        rule = "is the name of another method"
        raise ArgumentError("name", rule, show(name), "Choose another name")
    try:
        made: object = make()
    except TypeError as problem:
        rule = "must make an estimator when called without arguments"
        remedy = "Give each option a default"
        raise ArgumentTypeError(name, rule, str(problem), remedy) from None
    if not isinstance(made, Estimator):
        rule, remedy = "must make an estimator", "Derive the class from warner.estimators.Estimator"
        raise ArgumentTypeError(name, rule, kind(made), remedy)
    METHODS[name] = Method(make)


# -----------------------------------------------------------------------------------------------
# Advice against a method that does not suit the reports.


# On a smooth made-up distribution with a peak, 16 and 64 bins and 20,000 people, projected
# inversion and empirical Bayes had at most 1.3 times the Wasserstein-1 error of the default where
# the ratio was below 10. Above, they had 1.2 to 54 times, and mostly more than 4.
_TOO_LARGE = 10.0
_MOST_ENTRIES = 2**22  # of a channel whose ratio is computed, a fraction of a second


def advice(estimator: Estimator, data: LikelihoodData) -> str | None:
    """Why another estimator suits the reports better, and which; never than the recommended one."""
    if not estimator.inverts:
        return None
    better = recommended(data.domain, data.channel)
    ratio = None if better == estimator else conditioning(data.channel, data.domain)
    if ratio is None or ratio < _TOO_LARGE:
        return None
    if better.inverts:
        better = estimators.MaximumLikelihood()
    times = float(f"{ratio:.2g}")
    rule = (
        "is not advised here, because it starts from very uncertain estimates of single shares. "
        f"Their variance is about {times:,.0f} times the smallest that such reports allow"
    )
    return message(f"method {estimator!r}", rule, None, f"Use {better!r}")


def tells_numbers_apart(data: LikelihoodData) -> bool:
    """Whether reports say of a single number more than of its neighbours."""
    return not advice(estimators.EmpiricalBayes(), data)


def advice_to_keep_reports(estimator: Estimator, data: LikelihoodData) -> str | None:
    """Why whole reports should be tallied in place of bit sums, where the default uses them."""
    from warner.mechanisms.bit_vectors import WORTH_KEEPING

    channel, domain = data.channel, data.domain
    if type(channel) is not SupportChannel or estimator != recommended(domain, channel):
        return None
    is_place = domain.answered.dimension and not domain.answered.is_ordered
    gain = channel.gain_of_whole_reports
    few = DistinctReports(domain.size, while_few=True)
    if is_place or gain <= WORTH_KEEPING or not few.keeps(data.n):
        return None
    rule = (
        "has only sums of the reports. With complete reports, the variance of estimates is "
        f"smaller: by {100 * gain:.0f} % if all shares are equal, and by more if shares differ"
    )
    remedy = "Count the reports with --keep-reports (in Python: keep_reports=True)"
    return message("tally", rule, None, remedy)


def conditioning(channel: LikelihoodOperator, domain: Domain) -> float | None:
    """How much larger the variance of the inverse is than the information suggests.

        ratio = mean(variance) mean(information),   at equal shares

    Both are means over the K - 1 directions of vectors that sum to 0. The ratio is 1 where the
    noise is the same in all directions, and large where some are nearly lost, as in noise on a
    line; infinite where some are lost, so that there is no inverse. None where it is not known.
    """
    groups = channel.groups()
    if len(groups) > 1:
        ratios = [conditioning(group, domain) for group in groups]
        # What one group has lost, another may tell: the ratio of them together is not known.
        return _chosen(min, [None if ratio == np.inf else ratio for ratio in ratios])
    factors = channel.factors(domain.shape) if domain.attributes else None
    if factors is not None:
        parts = [domain.select([name]) for name in domain.attributes]
        pairs = zip(factors, parts, strict=True)
        return _chosen(
            max, [conditioning(factor, domain_of_factor) for factor, domain_of_factor in pairs]
        )
    rows, size = channel.shape
    even = np.full(size, 1 / size)
    if size < 2 or isinstance(channel, HashPool) or channel.binomial_law(even) is not None:
        return 1.0
    unknown = channel.rows_per_report != 1 or channel.is_keyed or not channel.lists_all_reports
    if unknown or rows * size > _MOST_ENTRIES:
        return None
    try:
        variance = float(channel.variance(even).sum())
    except IdentifiabilityError:
        return np.inf
    expected, information = channel.matvec(even), 0.0
    for rows_of_block, block in channel.blocks():
        d = expected[rows_of_block]
        information += float((block[d > 0] ** 2 / d[d > 0, None]).sum())
    # In the direction of equal shares the information is 1' I 1 / K = K.
    return variance * (information - size) / (size - 1) ** 2


def _chosen(choose: Callable[[list[float]], float], ratios: list[float | None]) -> float | None:
    """The smallest or largest of the ratios; None where one is not known."""
    numbers = [ratio for ratio in ratios if ratio is not None]
    return choose(numbers) if len(numbers) == len(ratios) else None


# -----------------------------------------------------------------------------------------------
# Mechanisms and estimators from outside the package, which all of it then knows.


_M = TypeVar("_M", bound=type[Mechanism])
_E = TypeVar("_E", bound=Callable[[], Estimator])


@overload
def register(thing: _M) -> _M: ...


@overload
def register(thing: str) -> Callable[[_E], _E]: ...


def register(thing: Any) -> Any:
    """Make a mechanism or an estimator of your own known to all of the package.

    A registered mechanism is known by the name of its class. Headers of reports and of tallies can
    then name it, so files, ``estimate``, ``audit`` and the command line read its reports. Study
    files can name it, and ``plan`` ranks it with the others where ``cls(domain, epsilon)`` makes
    it. Its ``version`` stands in headers, and another version is refused; raise it whenever the law
    or the form of reports changes.

    An estimator gets a name, for ``estimate(tally, "name")``, ``compare``, ``benchmark`` and
    ``warner estimate -m name``.

    The command line knows what it is told to load: ``warner --load mine.py estimate tally.json``,
    and what installed packages declare as entry points of the group ``warner``. Study files and
    report files load no code.

    Args:
        thing: a class of mechanisms, as the decorator ``@warner.register``; or the name of an
            estimator, as ``@warner.register("name")`` above a class whose options all have
            defaults, or ``warner.register("name")(function)`` for a function without arguments
            that returns an estimator.

    Returns:
        The class itself; of a name, a decorator.

    Raises:
        ArgumentError: a name that is taken. Defining the same class again is allowed.
        ArgumentTypeError: neither a class of mechanisms nor a name, or a mechanism that lacks
            methods.

    >>> from warner.estimators import Inversion
    >>> from warner.results.recommend import for_a_while
    >>> with for_a_while():
    ...     _ = register("cut-at-one-percent")(lambda: Inversion("threshold", alpha=0.01))
    ...     coin = warner.RandomizedResponse(warner.Categorical(["no", "yes"]), 1.0)
    ...     tally = coin.tally(coin.randomize(["no", "yes"] * 500))
    ...     warner.estimate(tally, "cut-at-one-percent").method
    "Inversion(constraint='threshold', alpha=0.01)"
    """
    if isinstance(thing, str):

        def decorated(make: Any) -> Any:
            if isinstance(make, type) and issubclass(make, Mechanism):
                rule = "is named by its class alone"
                remedy = "Write @warner.register above the class, without a name"
                raise ArgumentError("mechanism", rule, repr(thing), remedy)
            add_method(thing, make)
            return make

        return decorated
    if isinstance(thing, type) and issubclass(thing, Mechanism):
        add_mechanism(thing)
        return thing
    if isinstance(thing, type) and issubclass(thing, Estimator):
        rule = f"needs a name for the method of the class {thing.__name__}"
        remedy = "Write @warner.register('my-method') above the class"
        raise ArgumentError("register", rule, None, remedy)
    rule = "must get a class of mechanisms, or the name of an estimator"
    raise ArgumentTypeError("register", rule, kind(thing))


@contextmanager
def for_a_while() -> Iterator[None]:
    """Forget at the end of the block what was registered in it, as tests and documents need."""
    mechanisms, methods = dict(MECHANISMS), dict(METHODS)
    try:
        yield
    finally:
        for registry, before in ((MECHANISMS, mechanisms), (METHODS, methods)):
            registry.clear()
            registry.update(before)  # type: ignore[arg-type]
        forget_built()
