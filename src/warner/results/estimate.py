"""The function ``estimate`` makes an :class:`Estimate` from tallies; its methods interpret it.

An estimate is of one group of people or more. Without public columns all people are one group.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from warner._core.checks import choice, show
from warner._core.errors import ArgumentError, ArgumentTypeError, MethodWarning, warn
from warner._core.extras import Deferred
from warner._core.foreign_tables import FrameSource
from warner._core.names import explained
from warner._core.pickles import without_cached
from warner._core.progress import steps
from warner.estimators import Estimator
from warner.estimators.base import Fit, LikelihoodData, Status, log_likelihood_at, status_of_parts
from warner.estimators.plausibility import Plausibility
from warner.mechanisms import from_header
from warner.reports.public_columns import Key
from warner.reports.tally import (
    TalliesOfGroups,
    Tally,
    question_of,
    require_one_round,
    require_tally,
    warn_of_unknown_rounds,
)
from warner.reports.tally_kinds import warn_of_equal
from warner.results.from_tally import (
    POOLS,
    GroupTable,
    is_of_groups,
    likelihood_data,
    possible_values,
    tested,
)
from warner.results.recommend import (
    METHODS,
    advice,
    advice_to_keep_reports,
    estimator_of,
    recommended,
    recommended_fit,
)
from warner.results.solution import Solution, Weights, marginal_estimate, same

if TYPE_CHECKING:
    from warner._core.table import Table
    from warner.results import conditional, intervals, ranks, shown, summaries, tables
    from warner.results.association import Association
    from warner.results.conditional import Answered
    from warner.results.forged import ForgedBounds
    from warner.results.pooling import GroupAxis
    from warner.results.ranks import Ranks, Top
    from warner.results.redistribution import Redistributed
else:  # imported when they are first used
    conditional = Deferred("warner.results.conditional")
    intervals, ranks = Deferred("warner.results.intervals"), Deferred("warner.results.ranks")
    shown, tables = Deferred("warner.results.shown"), Deferred("warner.results.tables")
    summaries = Deferred("warner.results.summaries")

_MOST_IN_NOTEBOOK = 20  # shares; of more the largest are shown


@dataclass(frozen=True, eq=False)
class Estimate(FrameSource, Solution):
    """An estimated distribution over a domain, with intervals, summaries, tables and charts.

    Of a tally by public columns it is the distributions of G groups of people, each alone or drawn
    towards the others. Then ``result[key]`` is the estimate of one group, whose summaries the other
    methods give; shares, intervals, rows, frames and charts are of all groups.

    Attributes:
        probabilities: (K,) the shares in the domain's order; for a Product in C order of its
            attributes. (G, K) of groups.
        domain: the K values.
        n: number of reports.
        names, keys, sizes: the public columns, the values of them in each group, and the numbers
            (G,) of reports. Without groups there are no names, and the one key is ``()``.
        pool: how groups were pooled: ``"partial"``, ``"path"`` or ``"none"``.
        groups: how the groups were estimated: ``statuses``, ``concentration``, ``time``, and what a
            person has ``spent`` over time; None without groups.
        reports_per_person: the most reports of different values that one person sent.
        estimator: the estimator; ``method`` is its name, as Python code.
        status: how the estimator ended. Its text says what to do.
        gap: the most by which the log-likelihood of another distribution can be larger, in nats per
            report; None where no likelihood is maximised.
        attribute: the name of the attribute, where it has one.
        has_intervals: whether the channel has an inverse, from which intervals are made.
        plausibility: how plausible the reports are for their mechanism, with a ``note`` where they
            are hardly so; None for an estimate that was derived from another.
        is_joint: whether several questions were named, whose combinations are then shown, however
            many they are.
        fit: what the estimator returned, with iterations, log-likelihood and seconds.
        data: the channel, the report frequencies and n.

    >>> from warner import Categorical, RandomizedResponse, estimate
    >>> coin = RandomizedResponse(Categorical(["no", "yes"]), 3.0)
    >>> result = estimate(coin.tally(coin.randomize(["yes"] * 900 + ["no"] * 100)))
    >>> result.n, bool(result.probabilities[1] > 0.8), result.interval().shape
    (1000, True, (2, 2))
    >>> wards = {"north": 300, "south": 600, "east": 500, "west": 400}
    >>> by_ward = estimate({
    ...     ward: coin.tally(coin.randomize(["yes"] * yes + ["no"] * (1000 - yes)))
    ...     for ward, yes in wards.items()
    ... })
    >>> by_ward.probabilities.shape, by_ward.interval().shape, by_ward.pool
    ((4, 2), (4, 2, 2), 'none')
    >>> bool(by_ward["north"]["yes"] < by_ward["south"]["yes"])
    True
    """

    groups: GroupAxis | None = field(default=None, repr=False)
    plausibility: Plausibility | None = field(default=None, repr=False)
    is_joint: bool = field(default=False, repr=False)

    def __repr__(self) -> str:
        if self.groups is not None:
            about = f"{len(self)} groups by {', '.join(self.names)}, K={self.domain.size}"
            return f"Estimate({about}, n={self.n}, pool={self.pool!r})"
        gap = "" if self.gap is None else f", gap={self.gap:.2g}"
        several = self.reports_per_person > 1
        people = f" of {self.data.least_people} people or more" if several else ""
        about = (
            f"{self.method}, K={self.domain.size}, n={self.n}{people}, status={self.status.name}"
        )
        return f"Estimate({about}{gap})"

    def __str__(self) -> str:
        from warner._core.table import MOST

        most = None if self.groups is None else MOST
        printed = shown.printed(self, MOST)
        return "\n".join(b if isinstance(b, str) else b.text(most=most) for b in printed)

    def _repr_html_(self) -> str:
        from warner._core import html

        printed = shown.printed(self, _MOST_IN_NOTEBOOK, is_notebook=True)
        return "\n".join(
            f"<p>{html.text(b)}</p>" if isinstance(b, str) else b.html() for b in printed
        )

    def table(
        self, level: float = 0.95, target: str = "population", kind: str | None = None
    ) -> Table:
        """The rows as a table for people, pages and files.

        Args:
            level, target, kind: as for :meth:`rows`.

        Returns:
            Table: of :meth:`rows`; of :meth:`key_rows` or :meth:`means` where only these were
            estimated; of items that people tick, a row for each item. If no kind is named, it is of
            many numbers bands, mean and quartiles, and of groups mean and quartiles;
            :meth:`to_frame` has all shares. It prints itself, and has ``csv()``, ``xlsx()``,
            ``html()``, ``latex()`` and ``typst()``.
        """
        printed = shown.table_as_printed(self, level, target, kind)
        return printed or tables.estimate_table(self, level, target, kind)

    def __eq__(self, other: object) -> bool:
        """Estimates by one method from the same frequencies of reports are equal."""
        return isinstance(other, Estimate) and same(self, other) and self.keys == other.keys

    def __hash__(self) -> int:
        return hash((self.method, self.attribute, self.n, self.domain))

    def __getstate__(self) -> dict[str, Any]:
        """The attributes without those that are computed from others on first use."""
        return without_cached(self)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the public columns."""
        return () if self.groups is None else self.groups.table.names

    @property
    def keys(self) -> tuple[Key, ...]:
        """The public values of each group."""
        return ((),) if self.groups is None else self.groups.table.keys

    @property
    def sizes(self) -> np.ndarray:
        """The number of reports of each group."""
        return np.array([self.n]) if self.groups is None else self.groups.table.sizes

    @property
    def pool(self) -> str:
        """How groups were pooled: ``"partial"``, ``"path"`` or ``"none"``."""
        return "none" if self.groups is None else self.groups.pool

    @property
    def _one(self) -> Estimate:
        """This estimate, refused where it is of several groups."""
        if self.groups is None:
            return self
        rule, got = "has several groups of people", f"{len(self):,} groups"
        key = next(iter(self))
        remedy = f"Take one of them, for example result[{(key[0] if len(key) == 1 else key)!r}]"
        raise ArgumentError("estimate", rule, got, remedy)

    @cached_property
    def by_question(self) -> tuple[Estimate, ...]:
        """Each of several questions from the reports about it, where a table would be long.

        Nobody reads more than 12 combinations of answers, or numbers in bins with another answer.
        So rows, tables, frames and charts are of the questions, each of which is ``result[name]``.
        It is empty for fewer, for questions or a method that were named, for pooled groups, for a
        survey design, and where the reports do not tell the questions apart.
        """
        from warner.results.named_summaries import is_by_question

        is_whole = self.sums is None and self.pool == "none" and not self.is_joint
        if not is_whole or self.data.survey is not None or not is_by_question(self.data):
            return ()
        if self.estimator != recommended(self.domain, self.data.channel):
            return ()
        questions = []
        for axis, name in enumerate(self.domain.attributes):
            if self.groups is not None:
                table = self.groups.table.on_attributes([axis])
                is_whole = self.groups.together is not None
                questions.append(_of_table(table, None, "none", None, [name], is_whole))
            elif (data := self.data.on_attributes([axis])) is not None:
                one = _of_one(data, None)
                questions.append(replace(one, attribute=name, group=self.group))
        return tuple(questions)

    @property
    def doubt(self) -> str:
        """Why the reports are doubtful, for readers; "" where they are not."""
        if self.groups is not None:
            return self.groups.table.doubt
        of_weights = "" if self.data.survey is None else self.data.survey.drawn.doubt
        of_counts = "" if self.plausibility is None else self.plausibility.note
        return " ".join(filter(None, [of_weights, of_counts]))

    @property
    def hint(self) -> str:
        """What else the counts of a card may mean; "" where that is plain, or doubtful anyway."""
        return "" if self.doubt or self.plausibility is None else self.plausibility.hint

    @cached_property
    def usual_intervals(self) -> tuple[np.ndarray, np.ndarray]:
        """The 95 % intervals (K, 2) for the population, and (K,) what shrunk shares would be.

        :func:`warner.results.intervals.intervals_of_table` computes them, once.
        """
        return intervals.intervals_of_table(self)

    def __len__(self) -> int:
        """K, the number of values; of groups their number G."""
        return self.domain.size if self.groups is None else len(self.groups)

    def __iter__(self) -> Iterator[Any]:
        """The values, in the domain's order; of groups their public values, as in ``keys``."""
        return iter(self.domain.labels if self.groups is None else self.keys)

    def __contains__(self, value: object) -> bool:
        if self.groups is not None:
            return self.groups.table.position(value) is not None
        return ranks.place_of(self.domain, value) is not None

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        # The constructor of pandas would make a frame of the values alone.
        rule, remedy = "cannot become an array", 'Use to_frame("pandas") or probabilities'
        raise ArgumentTypeError("estimate", rule, None, remedy)

    def items(self) -> Iterator[tuple[Any, Any]]:
        """Pairs of a value and its share; of groups, of public values and their estimate."""
        return ((value, self[value]) for value in self)

    def __getitem__(self, value: Any) -> Any:
        """The estimated share of one value, a float with its interval.

        Of groups, the :class:`Estimate` of the group with these public values. Of several questions
        the name of one gives its :class:`Estimate`, and answers such as ``result["no", 3]`` the
        share of their combination. Of items that people tick, the name of an item gives the share
        who ticked it, as it is printed, and a list such as ``result[["tv"]]`` the share who ticked
        these items and no others.

        >>> from warner import Categorical, RandomizedResponse, estimate
        >>> coin = RandomizedResponse(Categorical(["no", "yes"]), 3.0)
        >>> result = estimate(coin.tally(coin.randomize(["yes"] * 900 + ["no"] * 100)))
        >>> result["yes"].low < result["yes"] < result["yes"].high
        True
        """
        from warner.domains import Items

        if self.groups is not None:
            return _estimate_of(self.groups.solution(value))
        if not isinstance(value, str) or value not in self.domain.attributes:
            return ranks.Share.of(self, value)
        alone = {question.attribute: question for question in self.by_question}
        question = alone.get(value) or self.marginal(value)
        return ranks.Share.of(question, "yes") if isinstance(self.domain, Items) else question

    def top(self, count: int = 10, level: float = 0.95, target: str = "population") -> Top:
        """The values with the largest shares, with intervals and ranks that hold for the choice.

        Where people tick items, these are the items that most people tick.

        With probability ``level``, all intervals and all ranks in the table are right. They are
        made for all K values together, so that it does not matter that the reports chose which of
        them are shown; see :mod:`warner.results.ranks`.

        Args:
            count: the number of values; fewer where there are fewer values.
            level: the probability that everything in the table holds, in [0.5, 1).
            target: ``"population"`` or ``"respondents"``.

        Returns:
            Top: a table with ``rows()`` and ``to_frame()``.

        Raises:
            IdentifiabilityError: the method estimates no shares.

        >>> from warner import Categorical, RandomizedResponse, estimate
        >>> drink = RandomizedResponse(Categorical(["tea", "coffee", "milk"]), 3.0)
        >>> answers = ["tea"] * 900 + ["coffee"] * 500 + ["milk"] * 490
        >>> first = estimate(drink.tally(drink.randomize(answers))).top(2).rows()[0]
        >>> first["value"], first["rank_low"], first["rank_high"]
        ('tea', 1, 1)
        """
        if items := shown.items_of(self._one):
            return ranks.top_of_items(items, count, self.n, level, target)
        return ranks.top(self, count, level, target)

    @explained
    def interval(
        self,
        level: float = 0.95,
        target: str = "population",
        kind: str | None = None,
        weights: Weights = None,
        replicates: int | None = None,
        rng: np.random.Generator | None = None,
        planned: int | None = None,
    ) -> np.ndarray:
        """Confidence intervals for the true shares.

        The kind says which shares they hold, and how often. All but ``"wald"`` and ``"fisher"``
        hold the estimate, too.

        Of pooled groups there are ``"posterior"`` intervals, which hold on average over groups: of
        all groups the share ``level`` is covered. A group that is unlike the others is missed more
        often. Over time so is a value that moves much more than the others, most at the first and
        the last time. ``"score"`` and ``"wald"`` intervals are from the reports of each group
        alone. They hold for every group, and are wider. They can leave out the pooled estimate.
        None is ``"posterior"`` for pooled groups and the population, that of each ``Estimate`` for
        groups that are estimated alone, and else ``"score"``.

        Args:
            level: coverage, in [0.5, 1).
            target: ``"population"`` for the distribution that the n people were drawn from, or
                ``"respondents"`` for the shares among exactly these n people.
            kind: one of

                - ``"score"``: each share with probability ``level``, also one that is read because
                  its estimate is the largest, see :func:`warner.results.intervals.score`;
                - ``"wald"``: each share with probability ``level``. Around the unbiased estimate,
                  see :func:`warner.results.intervals.wald`. Of few people, and among the largest of
                  many estimates, they miss more often;
                - ``"likelihood"``: each share with probability ``level``, of up to 16 values and
                  for the population. The shares that a likelihood-ratio test does not reject, see
                  :mod:`warner.results.likelihood_limits`;
                - ``"average"``: the part ``level`` of all shares, on average over the values, large
                  shares less often than small ones. They are much shorter than Wald intervals
                  where there are many values, see
                  :mod:`warner.results.share_noise`;
                - ``"simultaneous"``: all shares together with probability ``level``, see
                  :mod:`warner.results.share_noise`;
                - ``"anytime"``: each share, at all numbers of reports together, see
                  :func:`warner.results.intervals.anytime`. For those who look again and again while
                  reports come in. ``"anytime:1000"`` states the planned number of reports, too;
                - ``"bootstrap"``: each share, around this estimate, see
                  :func:`warner.results.intervals.bootstrap`;
                - ``"fisher"``: each share, around a maximum of the likelihood with no share at 0,
                  see :func:`warner.results.intervals.fisher`;
                - ``"posterior"``: each share, where the estimator has a posterior, see
                  :func:`warner.results.intervals.posterior`;
                - None, which is ``"posterior"`` if the target is the population and the estimator
                  has a posterior whose intervals keep their level, as LogSpline has. Of designs for
                  paper it is ``"likelihood"``. Otherwise it is ``"score"``, or ``"bootstrap"`` for
                  sums over attributes whose variance is not known.

            weights: (r, K) for the r linear functions ``weights @ shares``, such as a marginal.
                For ``"bootstrap"`` and ``"posterior"`` also a function (K,) -> (r,). Only for
                these two and ``"fisher"``. Means, variances, quantiles and ranges have intervals
                of their own, such as ``mean().interval()``.
            replicates: number of simulated tallies of the bootstrap, at least 20 and
                1 / (1 - level). None takes 200, or up to 10,000 where the level needs
                more.
            rng: the generator of the draws for ``"bootstrap"`` and ``"posterior"``. None gives the
                bootstrap fresh draws, and the posterior the same draws at every call.
            planned: for ``"anytime"``, the number of reports that was planned before the first
                look. The intervals are narrowest there.

        Returns:
            (K, 2) low and high of each share, or (r, 2) with weights; (G, K, 2) of groups. A group
            without reports has 0 and 1, unless the interval is a posterior one.

        Raises:
            ArgumentError: the kind does not apply to this estimate, or weights for groups.
            IdentifiabilityError: the channel has no inverse, so that nothing bounds a share.

        >>> from warner import Categorical, Inversion, RandomizedResponse, estimate
        >>> coin = RandomizedResponse(Categorical(["no", "yes"]), 3.0)
        >>> result = estimate(coin.tally(coin.randomize(["yes"] * 900 + ["no"] * 100)), Inversion())
        >>> low, high = result.interval(target="respondents")[1]
        >>> bool(low < result.probabilities[1] < high)
        True
        """
        if self.groups is not None:
            if weights is not None:
                remedy = "Take the estimate of one group, such as estimate[group]"
                raise ArgumentError("weights", "cannot be used for groups", None, remedy)
            return self.groups.interval(level, target, kind)
        return intervals.interval(self, level, target, kind, weights, replicates, rng, planned)

    def interval_kind(self, target: str = "population", kind: str | None = None) -> str:
        """The kind of the intervals in :meth:`rows`.

        Args:
            target: ``"population"`` or ``"respondents"``.
            kind: the kind that was asked for; None for the default.

        Returns:
            The name of a kind, or ``"none"`` where different distributions make the same reports.
            Of groups that were estimated alone it is ``"own"`` where no kind was asked for.
        """
        if self.groups is not None:
            return kind or self.groups.interval_kind(target)
        return intervals.available_kind(self, target, kind)

    @cached_property
    def advice(self) -> str | None:
        """Why another method suits the reports better, and which; None where there is no advice.

        Of bit sums it also says where whole reports would take more than 5 % off the error. See
        :mod:`warner.results.recommend`.
        """
        if self.groups is not None:
            return None
        against = advice(self.estimator, self.data)
        return against or advice_to_keep_reports(self.estimator, self.data)

    def bibtex(self) -> str:
        """The sources of the method, and the package itself, as BibTeX entries.

        Those of the mechanism are ``mechanism.bibtex()``.

        >>> from warner import Categorical, RandomizedResponse, estimate
        >>> coin = RandomizedResponse(Categorical(["no", "yes"]), 3.0)
        >>> result = estimate(coin.tally(coin.randomize(["yes"] * 90)), "mle")
        >>> [line for line in result.bibtex().splitlines() if line.startswith("@")]
        ['@misc{elsalamouny2019,', '@article{wang2007,', '@software{warner,']
        """
        return self.estimator.bibtex()

    def ranks(self, level: float = 0.95, target: str = "population") -> Ranks:
        """The ranks that all values can have, and which values are commoner than which.

        Args:
            level: the probability that all of them hold together, in [0.5, 1).
            target: ``"population"`` or ``"respondents"``.

        Returns:
            Ranks: ``low`` and ``high`` (K,), and ``is_commoner(first, second)``; see
            :mod:`warner.results.ranks`.

        Raises:
            IdentifiabilityError: the channel has no inverse.

        >>> from warner import Categorical, RandomizedResponse, estimate
        >>> coin = RandomizedResponse(Categorical(["tea", "coffee", "milk"]), 3.0)
        >>> answers = ["tea"] * 900 + ["coffee"] * 500 + ["milk"] * 490
        >>> rank = estimate(coin.tally(coin.randomize(answers))).ranks()
        >>> rank.rows()[0], rank.is_commoner("milk", "tea")
        ({'value': 'tea', 'low': 1, 'high': 1}, False)
        """
        return ranks.ranks(self._one, level, target)

    def log_likelihood_at(self, theta: ArrayLike) -> float | np.ndarray:
        """L(theta) = sum_i log Pr(report i | theta), of any distribution [P1 eq 15, P4 eq 10].

        It is on the scale of ``log_likelihood``: the sum of the logarithms of all n reports'
        probabilities, whatever the mechanisms. Where a tally has bit sums, it is the quasi-
        likelihood, which sums over the bits of each report.

        A marginal of a joint estimate has no likelihood of its own, so it is refused there.

        Args:
            theta: (K,) a distribution, or (..., K) several, such as a grid for a surface.

        Returns:
            Nats, -inf where a report would be impossible. A float for one distribution, else an
            array (...).

        Raises:
            ArgumentTypeError: no numbers.
            ArgumentError: another number of shares than K, or no distribution; or a marginal.

        >>> from warner import Categorical, RandomizedResponse, estimate
        >>> coin = RandomizedResponse(Categorical(["no", "yes"]), 3.0)
        >>> result = estimate(coin.tally(coin.randomize(["yes"] * 90 + ["no"] * 10)))
        >>> result.log_likelihood_at([[0.9, 0.1], [0.1, 0.9]]).argmax().item()
        1
        """
        if self.sums is not None:
            rule = "needs an estimate of all questions together, not a part of it"
            remedy = "Use the whole estimate, or make another: estimate(tally, attributes=[...])"
            raise ArgumentError("log_likelihood_at", rule, None, remedy)
        return log_likelihood_at(self._one.data, theta)

    def mean(self) -> summaries.Quantity | tuple[summaries.Quantity, ...]:
        """The mean of the values, sum_x theta_x point_x; see :mod:`warner.results.summaries`.

        Here point_x is the number or the place that value x stands for. Where nonresponse is a
        value of its own, this and the other summaries are of those who answered, see
        :meth:`answered`. Where devices randomised numbers, and the values are bins of these, the
        mean is moved into the interval of level 0.3 of the unbiased mean, which is exact wherever
        in their bins the numbers are.

        Returns:
            A float with a method ``interval``. For points in several dimensions it is a
            tuple of such floats, one for each coordinate.

        Raises:
            ArgumentTypeError: the values are not points.
        """
        return summaries.mean(self._one)

    def variance(self) -> summaries.Quantity | tuple[summaries.Quantity, ...]:
        """The variance of the values. The numbers in a bin are taken as spread evenly over it.

        It is that of the estimated shares. Smooth shares say too large a variance where reports say
        little: if it lies outside the interval of level 0.3, it is moved to the nearest limit.

        Returns:
            A float with a method ``interval``. For points in several dimensions it is a
            tuple of such floats, one for each coordinate.

        Raises:
            ArgumentTypeError: the values are not points.
            IdentifiabilityError: the method estimates no shares.
        """
        return summaries.variance(self._one)

    def quantile(self, q: float) -> summaries.Quantity:
        """The smallest value whose cumulative share reaches q.

        Args:
            q: in [0, 1]; 0.5 for the median.

        Returns:
            A float with a method ``interval``. The numbers in a bin are taken as spread evenly over
            it; the interval is of whole bins, because they need not be.

        Raises:
            ArgumentTypeError: the values are not points on a line.
            ArgumentError: q outside [0, 1].
            IdentifiabilityError: the method estimates no shares.
        """
        return summaries.quantile(self._one, q)

    def range(self, low: float, high: float) -> summaries.Quantity:
        """The share of the values from low to high, both included.

        Args:
            low, high: the limits of the range, in the units of the values. If a limit lies within a
                bin, the bin counts in proportion to the length that is inside the range.

        Returns:
            A float with a method ``interval``.

        Raises:
            ArgumentTypeError: the values are not points on a line.
            ArgumentError: a limit outside the domain, or ``low`` above ``high``.
            IdentifiabilityError: the method estimates no shares.
        """
        return summaries.mass(self._one, low, high)

    def marginal(self, names: str | Sequence[str]) -> Estimate:
        """The estimate of some attributes of a Product, as sums over the others.

        Status, gap and likelihood come from the joint fit. The default intervals are score
        intervals from the unbiased estimate of the marginal. The bootstrap refits the joint
        distribution. A marginal has no posterior intervals. An estimate by ``Inversion()`` is
        computed again from the reports on these attributes alone, because sums over bits of other
        attributes would add noise.

        Args:
            names: the attributes in the wanted order, or the name of one.

        Returns:
            Estimate: on a Product of these attributes, or on the one attribute's domain.

        Raises:
            ArgumentTypeError: the domain is not a Product.
            ArgumentError: names that are not attributes of the domain.

        >>> from warner import Categorical, Integers, Product, RandomizedResponse, estimate
        >>> people = Product(sex=Categorical(["f", "m"]), age=Integers(0, 2))
        >>> mechanism = RandomizedResponse(people, 4.0)
        >>> answers = [{"sex": "f", "age": 1}, {"sex": "m", "age": 2}] * 500
        >>> result = estimate(mechanism.tally(mechanism.randomize(answers)))
        >>> result.marginal("age").domain, result.marginal(["age", "sex"]).domain.shape
        (Integers(low=0, high=2), (3, 2))
        """
        return _estimate_of(marginal_estimate(self._one, names))

    def cramers_v(self, first: str, second: str) -> Association:
        """Cramer's V of two attributes of a Product, corrected for the noise.

        Args:
            first, second: names of the attributes.

        Returns:
            A float with a method ``interval``: see :mod:`warner.results.association`.

        Raises:
            ArgumentTypeError: the domain is not a Product.
            ArgumentError: not two attributes of the domain, bit sums instead of whole reports, or
                too many possible reports.
            EmptyError: fewer than two reports.
        """
        from warner.results.association import cramers_v

        return cramers_v(self._one.data, first, second)

    def conditional(self, key: Any) -> conditional.Conditional:
        """The distribution of the second attribute among people with one value of the first.

        Args:
            key: the value of the first attribute.

        Returns:
            Conditional: shares, mean, variance, quantiles, each with intervals; see
            :mod:`warner.results.conditional`.

        Raises:
            ArgumentTypeError: the domain is not a Product of two attributes.
            ArgumentError: the key is not a value of the first attribute.
        """
        return conditional.conditional(self._one, key)

    def answered(self) -> Answered:
        """The distribution among the people who answered, where nonresponse is a value of its own.

        Returns:
            Answered: shares, mean, variance, quantiles, each with intervals, and the share of
            people who answered; see :mod:`warner.results.conditional`.

        Raises:
            ArgumentTypeError: nonresponse is no value of the domain.
        """
        return conditional.answered(self._one)

    def redistribute(self, background: Mapping[str, ArrayLike] | None = None) -> Redistributed:
        """Distribute the shares of tags over the values.

            p(x) = r(x) + sum_k r(tag k) pi_k(x)

        Here r are the estimated shares of values and tags, from the tally of a PersonalizedULDP
        mechanism, or from several tallies with different budgets. pi_k is the distribution of the
        values that people hide under tag k.

        Args:
            background: {tag: pi_k (K,)}, the distribution of the values that people hide under a
                tag, where it is known. For a tag that is not named, pi_k is in proportion to r over
                the values that are not sensitive for everyone, or uniform over them where r is 0
                there.

        Returns:
            Redistributed: the shares p (K,) of values.

        Raises:
            MismatchError: an estimate without tags.
            ArgumentError: an unknown tag, or background knowledge that is not a distribution.

        Source: [P2 eq 22].

        >>> from warner import Integers, UtilityOptimizedRR, estimate
        >>> from warner.mechanisms import PersonalizedULDP
        >>> common = UtilityOptimizedRR(Integers(0, 9), 2.0, sensitive=[3])
        >>> city = PersonalizedULDP(common, ["home"])
        >>> reports = city.device({"home": [4]}).randomize([4] * 500 + [7] * 500)
        >>> estimate(city.tally(reports)).redistribute({"home": [0.1] * 10}).probabilities.shape
        (10,)
        """
        from warner.results.redistribution import redistributed

        return redistributed(self._one, background)

    def if_forged(
        self,
        made_up: float = 0.01,
        level: float = 0.95,
        target: str = "population",
        kind: str | None = None,
    ) -> ForgedBounds:
        """The bounds of each share if up to so many reports were made up, in any way.

            low = min over forged frequencies z of (l - eta L z) / (1 - eta)
            high = max over forged frequencies z of (h - eta L z) / (1 - eta)

        Here l and h are the ends of the interval, L is the unbiased inverse of the channel and eta
        is the part that was made up of the reports about this question. Whoever makes reports up
        can choose the question where each person is asked some of them: eta is the number of
        reports that were made up, divided by those about this question. Reports that were made up
        like honest ones have the law of honest people with other answers, so no test can find them:
        the bounds say what they can do.

        Args:
            made_up: the part of all reports that was made up, above 0 and below 1; or their number,
                a whole number from 2.
            level, target, kind: of the interval, as in :meth:`interval`.

        Returns:
            ForgedBounds: with ``bounds`` (K, 2).

        Raises:
            ArgumentError: neither a part in (0, 1) nor a whole number of reports.
            MismatchError: reports without an unbiased inverse in closed form, or means alone.

        >>> from warner import Categorical, RandomizedResponse, estimate
        >>> smoking = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
        >>> result = estimate(smoking.tally(smoking.reports([0] * 600 + [1] * 400)))
        >>> (result.if_forged(0.02).bounds - result.interval()).round(3).tolist()[1]
        [-0.028, 0.019]
        >>> bool((result.if_forged(20).bounds == result.if_forged(0.02).bounds).all())
        True
        """
        from warner.results.forged import forged_bounds

        return forged_bounds(self._one, made_up, level, target, kind)

    def frequencies(self, level: float = 0.95, target: str = "population") -> list[dict[str, Any]]:
        """The frequency of every value of the first of two attributes, such as of every key.

        Args:
            level: coverage of the intervals, in [0.5, 1).
            target: ``"population"`` or ``"respondents"``.

        Returns:
            One dict per value of the first attribute, in the order of its domain. Its keys are

            - ``"value"``: the value;
            - ``"estimate"``: the share of people who have it;
            - ``"low"``, ``"high"``: the interval of the share;
            - ``"people_about"``: the estimated number of these people.

        Raises:
            ArgumentTypeError: the domain is not a Product of two attributes.
        """
        return conditional.frequencies(self._one, level, target)

    def key_rows(self, level: float = 0.95, target: str = "population") -> list[dict[str, Any]]:
        """The frequency of every key and the mean of its values, from reports of KeyValue.

        Args:
            level: coverage of the intervals, in [0.5, 1).
            target: ``"population"`` or ``"respondents"``.

        Returns:
            The dicts of :meth:`frequencies`, each with four more keys:

            - ``"mean"``: the mean of the key's values;
            - ``"mean_low"``, ``"mean_high"``: its interval;
            - ``"status"``: the name of the status in lower case, ``"key_absent"`` where nobody
              seems to have the key.

            The list is empty where the reports are not of keys with values.
        """
        return conditional.key_rows(self._one, level, target)

    def rows(
        self, level: float = 0.95, target: str = "population", kind: str | None = None
    ) -> list[dict[str, Any]]:
        """The shares of all values as a table.

        Args:
            level: coverage of the intervals, in [0.5, 1).
            target: ``"population"`` or ``"respondents"``.
            kind: the kind of intervals, as in :meth:`interval`; None for the default.

        Returns:
            One dict per value, in the domain's order. Its keys are

            - ``"value"``: the value;
            - ``"estimate"``: its share;
            - ``"low"``, ``"high"``: the interval of :meth:`interval`; 0 and 1 where nothing
              bounds a share;
            - ``"error"``: the standard error of the unbiased estimate; None where the interval is
              not made of it, as of smooth numbers;
            - ``"people_about"``: the estimated number of people with this value, the share times
              n; of reports, where a person sent several; None where some people were asked a part
              of the attributes alone;
            - ``"shrunk_from"``: the unbiased estimate, where the value's own reports exclude the
              estimate at this level; None elsewhere, see
              :func:`warner.results.intervals.intervals_of_table`.

            The list is empty where only means were estimated.

            Of several questions with more than 12 combinations of answers, or with bins, the rows
            of each question, whose name is in ``"attribute"``. For the combinations, name the
            questions: ``estimate(tally, attributes=[...])``.

            Of groups, one dict for each group and value: the public columns by name, ``"value"``,
            ``"estimate"`` (None where nothing is known of the group), ``"low"``, ``"high"``,
            ``"error"`` (None of pooled groups), ``"reports"`` of the group, and ``"status"``. With
            ``total=True`` the last rows are of all people together: their public columns hold "all
            people", and their status is ``"together"``.
        """
        if questions := shown.questions_of(self):
            each_row = ((q, row) for q in questions for row in q.rows(level, target, kind))
            return [{"attribute": q.attribute, **row} for q, row in each_row]
        if self.groups is not None:
            return self.groups.rows(level, target, kind)
        return tables.rows(self, level, target, kind)

    def means(
        self, level: float = 0.95, target: str = "population", kind: str | None = None
    ) -> list[dict[str, float]]:
        """The mean of the values as a table.

        Args:
            level: coverage of the interval, in [0.5, 1).
            target: ``"population"`` or ``"respondents"``.
            kind: ``"anytime:N"`` for intervals that hold at every look; None for the default.

        Returns:
            One dict per coordinate of the values, with the keys ``"estimate"``, ``"low"`` and
            ``"high"``.

        Raises:
            ArgumentTypeError: the values are not points.
        """
        return tables.means(self._one, level, target, kind)

    def to_json(
        self, level: float = 0.95, target: str = "population", kind: str | None = None
    ) -> dict[str, Any]:
        """The estimate as JSON data.

        Args:
            level: coverage of the intervals, in [0.5, 1).
            target: ``"population"`` or ``"respondents"``.
            kind: the kind of intervals of the shares, as in :meth:`interval`; None for the default.

        Returns:
            Method, status, fit, domain, a ``"doubt"`` of the reports where there is one, and the
            tables: ``"shares"`` of :meth:`rows`, ``"unbiased"`` with the unbiased estimate of each
            share and its standard error, where intervals are made of them, ``"mean"`` of
            :meth:`means` where only means were estimated, ``"keys"`` of :meth:`key_rows` where
            reports are of keys with values.
        """
        written = tables.to_json if self.groups is None else tables.groups_to_json
        doubt = {"doubt": self.doubt} if self.doubt else {}
        return written(self, level, target, kind) | doubt

    def to_frame(
        self,
        backend: str = "pyarrow",
        level: float = 0.95,
        target: str = "population",
        **columns: Any,
    ) -> Any:
        """The rows as a data frame.

        Args:
            backend: a library that Narwhals can use, such as pyarrow, polars or pandas.
            level: coverage of the intervals, in [0.5, 1).
            target: ``"population"`` or ``"respondents"``.
            columns: columns that stand before the others, with one value for all rows, such as
                ``week=3``.

        Returns:
            A frame with the columns of :meth:`rows`, or of :meth:`key_rows` where only the means
            of keys were estimated. Of items that people tick, a row for each item, whose name
            stands in the column ``item``. Values that are not numbers or strings are JSON; those of
            several questions in one frame are texts.

        Raises:
            ArgumentError: no such library is installed, or a column of the table by that name.
        """
        from warner._core.table import frame_of_rows

        if items := shown.items_of(self):
            table = shown.table_of_items(self.attribute, items, level, target)
            return table.to_frame(backend, **columns)
        return frame_of_rows(tables.frame_rows(self, level, target), backend, columns)

    def __sub__(self, other: object) -> Any:
        if not isinstance(other, Estimate):
            return NotImplemented
        rule = "cannot be subtracted"
        remedy = "For the difference with its interval, write warner.compare_groups(first, second)"
        raise ArgumentTypeError("estimates", rule, None, remedy)

    @explained
    def plot(
        self,
        path: str | None = None,
        truth: ArrayLike | Mapping[Any, float] | None = None,
        level: float = 0.95,
        target: str = "population",
        top: int | None = None,
        title: str | None = None,
        values: Sequence[Any] | None = None,
        reports: bool = False,
        labels: Sequence[str] | None = None,
        unit: str | None = None,
        width: float | None = None,
    ) -> Any:
        """A chart of shares and intervals; see :mod:`warner.results.charts`.

        Of groups it has one panel for each value, of two values for "yes" or else the last: groups
        as dots with bars, or a line over time. Where time makes the only groups, up to six lines
        stand in one panel. Of groups of many numbers it has mean and quartiles, if no values,
        ``top`` or ``labels`` are named. A page (.html) has the numbers in a table below, and
        follows the reader's dark mode.

        Args:
            path: the file to save the chart to (.png, .svg, .pdf, .html or .json); None saves no
                file.
            truth: (K,) the true shares, to draw beside the estimates; or {value: share}, or a
                series of pandas, such as of ``value_counts(normalize=True)``.
            level: coverage of the intervals, in [0.5, 1).
            target: ``"population"`` or ``"respondents"``.
            top: draw this many of the largest shares, and the others together. Their intervals
                hold for all values at once. None draws all, and 20 of more than 60 labels. Of
                groups, the number of panels, 12 where there is none.
            title: the title, such as the text of the question, in place of the attribute's name,
                and of groups in place of "Shares by" their columns.
            values: of groups, the values to draw instead, in this order, such as ``["often"]``.
            reports: whether the share of the reports that name each value is drawn beside the
                estimate: what was received beside what is concluded from it.
            labels: (K,) the texts of the values that people read, in place of the values.
            unit: what numbers count, such as "minutes", for their axis.
            width: of each panel in pixels, without the labels beside it; None for 460.

        Returns:
            The Altair chart.

        Raises:
            ArgumentError: the method estimates no shares, ``truth`` is not a distribution of K
                shares, ``top`` is below 1, values that are not in the domain, reports that name no
                values, another number of labels, or the path has another suffix.
            FileError: the file cannot be written.
            MissingExtraError: the extra 'plot' is not installed.
        """
        from warner.results.charts import pictured
        from warner.results.drawing import finished

        options = truth, level, target, top, title, values, reports, labels, unit
        return finished(*pictured(self, *options), path, width)


@explained
def estimate(
    tally: TalliesOfGroups | Iterable[Tally],
    method: Estimator | str | None = None,
    attributes: Sequence[str] | None = None,
    values: Any = None,
    *,
    pool: str | None = None,
    time: str | None = None,
    weights: str | None = None,
    cluster: str | None = None,
    strata: str | None = None,
    by: str | Sequence[str] | None = None,
    total: bool = False,
) -> Estimate:
    """Estimate the distribution of the true values from the tally of their reports.

    Args:
        tally: a tally, or several. Tallies of one mechanism are added. Tallies of different
            mechanisms or budgets on one domain are estimated from together. A tally by public
            columns, several by the same columns, or a mapping {public values: tally}, gives the
            estimates of its groups.
        method: an estimator such as ``MaximumLikelihood()``, or its name on the command line,
            such as ``"mle"`` or ``"em:100"``; None for the recommended one, see
            :func:`warner.results.recommend.recommended`. Pooled groups take none.
        attributes: for tallies of several attributes (PerAttribute), the names of those whose joint
            distribution is estimated, in this order, or one name; None for all.
        values: a list of the values that are possible; ``"reported"`` for those that some report
            names; None for all. Other values have share 0 by assumption, and are not in the
            estimate. Not for groups. See below.
        pool: for groups, ``"partial"`` draws the shares of each group towards the mean by as much
            as the reports warrant; ``"path"`` draws them towards the groups before and after in
            time; ``"none"`` estimates each group alone, as ``warner report`` does. None is
            ``"path"`` where ``time`` is named, and else ``"none"``. Pooling is of shares: means and
            quantiles need groups alone, and so do numbers in bins and more than 12 numbers.
        time: for groups on a path, the public column with the time: numbers or dates. Groups that
            are alike in the other columns are one path. The only column of a plain dict has no
            name: ``time="week"`` gives it one. With ``pool="none"`` each is estimated alone, and
            charts have lines over time.
        weights, cluster, strata: of a survey that is no simple random sample, the public columns
            of the tally with the weight of a person, with the cluster that was drawn, such as the
            school, and with the stratum. See below.
        by: of such a survey, the public columns of groups; None for all that its design does not
            name, and ``()`` for all people together. A column of the design can be one, too.
        total: for groups, whether rows, tables and frames end with all people together, estimated
            from all reports. ``tally.total()`` estimates all people alone.

    Returns:
        Estimate: shares (K,) in the domain's order, or (G, K) of groups, with a status and
        intervals.

    With ``values``, everything is about distributions on these values. A status of a unique maximum
    says that no other distribution on them is as likely, and the gap bounds the likelihood of all
    distributions on them. On reported values the maximum is unique for randomised response and
    geometric noise [P4 sec VIII]. Values that somebody holds and nobody reported are then left
    out. This biases shares if there are few people for the number of values. Intervals do not
    include the error of this choice.

    With a survey design the frequencies of the reports are weighted, and variances are

        V = sum_h G_h / (G_h - 1) sum_{g in h} (S_g - S_h) (S_g - S_h)'

    S_g sums w_i (l_i - T) / W over the people of cluster g, l_i is the term of a report in the
    unbiased estimate T, W the sum of the weights, and S_h the mean over the G_h clusters of stratum
    h. People who are in no cluster are one each. Intervals take Student's t, whose degrees of
    freedom are at most clusters - strata. Methods that maximise a likelihood are given as many
    people as would tell as much, drawn one by one. Each share has its design effect.

    Raises:
        ArgumentError: unknown attributes or values, more attributes than the tally has tables of,
            or fewer than two values; of a survey a column that is not there, weights that are not
            positive, a single cluster in a stratum, or a cluster in several strata.
        MismatchError: the tallies cannot be combined; or no answers make their counts by chance,
            as where answers were not randomised. See :meth:`warner.Tally.trusted`.
        EmptyError: there are no reports.
        IdentifiabilityError: the method inverts the channel, which has no inverse.

    Warns:
        MethodWarning: the method named is advised against for these reports; the warning names a
            better one.

    Source of the pooled estimates: METHODS 10.5; of surveys 10.10.

    >>> from warner import Integers, UnaryEncoding
    >>> mechanism = UnaryEncoding(Integers(0, 3), 2.0, variant="oue")
    >>> estimate(mechanism.tally(mechanism.randomize([0, 1, 2, 3] * 500))).probabilities.shape
    (4,)
    >>> two = estimate(mechanism.tally(mechanism.randomize([1, 2] * 500)), values=[1, 2])
    >>> two.domain.labels
    [1, 2]
    >>> weeks = {w: mechanism.tally(mechanism.randomize([0, 1, 2, 3] * 50)) for w in range(5)}
    >>> series = estimate(weeks, time="week")
    >>> series.pool, series.names
    ('path', ('week',))
    >>> [row["week"] for row in estimate(weeks, time="week", total=True).rows()][-1]
    'all people'
    """
    from warner._core.survey_design import SurveyDesign

    is_column = isinstance(tally, str | np.ndarray) or hasattr(tally, "to_numpy")
    if is_column or (hasattr(tally, "columns") and not isinstance(tally, Tally)):
        require_tally(tally)
    if not isinstance(tally, Tally | Mapping) and isinstance(tally, Iterable):
        tally = [*tally]
        warn_of_equal([each for each in tally if isinstance(each, Tally)])
    if isinstance(method, str) and isinstance(tally, Tally):
        _refuse_question(method, tally)
    named = None if method is None else estimator_of(method)
    survey = SurveyDesign.of(weights, cluster, strata)
    if survey is not None:
        from warner.results.pooling import chosen_pool

        if values is not None:
            survey_rule = "cannot be used with a survey design"
            remedy = "Leave out the argument values"
            raise ArgumentError("values", survey_rule, f"a survey {survey.text}", remedy)
        table = GroupTable.surveyed(tally, survey, by, attributes)
        if table.names:
            return _of_table(table, named, pool, time, attributes, total)
        data, plausible = table.whole, table.plausibility
        chosen_pool(table, named, pool, time)
        result = _warned(_of_one(data, named), named)
        name = _name_of(attributes, table.question)
        is_joint = _are_several(attributes)
        return replace(result, attribute=name, plausibility=plausible, is_joint=is_joint)
    if by is not None:
        rule = "can be used only with a survey design"
        remedy = f"Count by these columns: mechanism.tally(reports, by={{{by!r}: values}})"
        if isinstance(tally, Tally) and len(tally.names) > 1 and by in tally.names:
            remedy = f"Estimate the coarser groups: estimate(tally.by({show(by)}))"
        elif is_of_groups(tally):
            remedy = "Leave out the argument by: the tally is in groups already"
        raise ArgumentTypeError("by", rule, show(by), remedy)
    if is_of_groups(tally):
        if values is not None:
            rule = "cannot be chosen where there are groups"
            raise ArgumentError("values", rule, None, "Estimate each group by itself")
        table = GroupTable.of(tally, attributes, only=time)
        if total and isinstance(tally, Mapping):  # whose tallies are added only here
            require_one_round(each.round for each in tally.values())
            warn_of_unknown_rounds([*tally.values()])
        return _of_table(table, named, pool, time, attributes, total)
    for name, given in (("pool", pool), ("time", time), ("total", total or None)):
        if given is not None:
            rule = (
                "can be used only for groups: a tally by public columns, or a dict {public "
                "values: tally}"
            )
            raise ArgumentTypeError(name, rule)
    assert not isinstance(tally, Mapping)  # which is of groups
    data = likelihood_data(tally, attributes)
    plausible = tested(tally, data)
    result = _warned(_of_one(data, named, values), named)
    question = question_of([tally] if isinstance(tally, Tally) else tally)
    name, is_joint = _name_of(attributes, question), _are_several(attributes)
    return replace(result, attribute=name, plausibility=plausible, is_joint=is_joint)


def _refuse_question(method: str, tally: Tally) -> None:
    """Refuse the name of a question in place of a method, as in ``estimate(tally, "smokes")``."""
    if method in from_header(tally.header).attribute_domains and method not in METHODS:
        rule, remedy = "is the name of a question, not of a method", "Write attributes="
        raise ArgumentError("method", rule, show(method), f"{remedy}{show(method)}")


def _are_several(attributes: str | Sequence[str] | None) -> bool:
    """Whether somebody named several questions."""
    return attributes is not None and not isinstance(attributes, str) and len(attributes) > 1


def _name_of(attributes: str | Sequence[str] | None, question: str) -> str | None:
    """The name of an estimate for titles: of its only attribute, or of all of a tally's."""
    if attributes is None:
        return question or None
    listed = [attributes] if isinstance(attributes, str) else attributes
    return listed[0] if len(listed) == 1 else None


def _warned(result: Estimate, named: Estimator | None) -> Estimate:
    """The estimate, with a warning where the method that was named is advised against."""
    against = None if named is None else advice(named, result.data)
    if against is not None:
        warn(against, MethodWarning)
    return result


def _of_one(data: LikelihoodData, method: Estimator | None, values: Any = None) -> Estimate:
    """The estimate of one group of people."""
    if values is not None:
        data = data.restricted(possible_values(data, values))
    seen = data.for_fit()
    chosen, fit = recommended_fit(seen) if method is None else (method, method.fit(seen))
    if data.survey is not None and fit.probabilities is None:
        rule = "cannot be used with a survey design, which needs estimates of shares"
        remedy = "Leave the method out, and take the mean of the estimate: estimate(...).mean()"
        raise ArgumentError("method", rule, repr(chosen), remedy)
    return Estimate(fit, data, chosen)


def _of_table(
    table: GroupTable,
    method: Estimator | None,
    pool: str | None,
    time: str | None,
    attributes: Sequence[str] | None,
    total: bool = False,
) -> Estimate:
    """The estimates of groups, pooled as asked."""
    from warner.results.pooling import GroupAxis, PooledShares, chosen_pool, pooled_axis

    chosen = chosen_pool(table, method, choice("pool", pool, (*POOLS, None)), time)
    name = _name_of(attributes, table.question)
    more: dict[str, Any] = {"attribute": name, "is_joint": _are_several(attributes)}
    more["plausibility"] = table.plausibility
    together = replace(_of_one(table.whole, method), **more) if total else None
    if chosen != "none":
        table.require_shares()
        axis = replace(pooled_axis(table, chosen, time), together=together)
        fit = Fit(axis.probabilities, Status.COMPLETED)
        return Estimate(fit, table.whole, PooledShares(chosen), groups=axis, **more)
    # A group without reports gets equal shares and no interval.
    shares = np.full((len(table.keys), table.domain.size), 1 / table.domain.size)
    members: list[Estimate | None] = []
    for g, data in enumerate(steps(table.parts, "estimating groups")):
        member = None if data is None else _of_one(data, method)
        if member is not None:
            member = replace(
                member,
                plausibility=table.of_groups[g],
                group=table.named(g),
                is_joint=more["is_joint"],
            )
        members.append(member)
        if member is not None:
            shares[g] = member.probabilities
            warned = member
    _warned(warned, method)
    fit = Fit(shares, status_of_parts(m.status for m in members if m is not None))
    axis = GroupAxis(table, "none", shares, None, tuple(members), time, together)
    return Estimate(fit, table.whole, warned.estimator, groups=axis, **more)


def _estimate_of(solution: Solution) -> Estimate:
    """A solution with the methods of an estimate."""
    if isinstance(solution, Estimate):
        return solution
    s = solution
    return Estimate(s.fit, s.data, s.estimator, s.attribute, s.sums, s.normal, s.group)


def group_table(groups: Any, attributes: Sequence[str] | None = None) -> GroupTable:
    """The reports of groups, of a mapping of tallies or of their estimate."""
    if not isinstance(groups, Estimate) or groups.groups is None:
        return GroupTable.of(groups, attributes)
    if attributes is not None:
        rule = "cannot be chosen for estimates that are made already"
        remedy = "Pass the tallies of the groups, not their estimate"
        raise ArgumentError("attributes", rule, None, remedy)
    return groups.groups.table
