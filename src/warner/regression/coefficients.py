"""The coefficients of a regression, their errors, tests and tables."""

from __future__ import annotations

import contextlib
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from warner._core.checks import choice, unknown
from warner._core.errors import ArgumentError
from warner._core.extras import scipy
from warner._core.names import explained
from warner._core.survey_design import DrawnSample
from warner._core.table import Column, Table, Tabular, as_text
from warner._core.text import series
from warner.channels import FloatArray
from warner.designs.latent_classes import ClassShares
from warner.regression.covariates import INTERCEPT, Design
from warner.regression.likelihood import Ending, Likelihood, Maximum, maximize
from warner.results.intervals import DESIGN_EFFECT, normal_quantile
from warner.results.tables import FOLLOWED, reports_of
from warner.results.wald_tests import WaldTest

# A paper has no room for these.
_DEGREES = Column("degrees", "degrees of freedom", "number", 4)
_EFFECT = replace(DESIGN_EFFECT, priority=3)
NORMAL = np.array(np.inf)  # degrees of freedom of errors from very many independent people
_COMPARED = "Compared with"
_NAMED = "covariate in words"  # the key of a column as people read it
_ODDS = ("odds_ratio", "odds_low", "odds_high")  # the keys of rows
_BETWEEN_FACTORS = re.compile(r":(?![^\[]*\])")  # a colon outside brackets
_FAR_FROM_ZERO = 2.0  # standard errors, from which on a deviation has an interval of its logarithm


def one_unit_more(larger: str) -> str:
    """What the estimate of a covariate means for a quantity, which is given with its verb."""
    return (
        f"If a covariate is one unit larger and all other covariates stay equal, {larger} larger "
        "by the estimate."
    )


@dataclass(frozen=True)
class Parameter:
    """What a model has beside coefficients, such as how much groups differ.

    Its ``p`` is the probability of reports as far from "it is 0", if it is 0.
    """

    name: str
    estimate: float  # a share, or a standard deviation
    error: float  # its standard error; NaN, as the ends of its interval, where none holds
    is_share: bool  # whether it lies between 0 and 1
    p: float | None = None  # None where that is no question
    degrees: float = math.inf  # the degrees of freedom of the error
    meaning: str = ""  # what a reader is told of it, as a sentence

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """A confidence interval, inside what is possible.

        It is symmetric for the log-odds of a share and for the logarithm of a deviation. A
        deviation below two standard errors, and a share of 0 or 1, have a symmetric interval that
        is cut at what is possible.

        >>> low, high = Parameter("cheaters", 0.0, 0.02, is_share=True).interval()
        >>> low, round(high, 3)
        (0.0, 0.039)
        """
        reach, value = normal_quantile(level, self.degrees) * self.error, self.estimate
        if self.is_share:
            if not 0 < value < 1:
                reach = reach if self.error > 0 else 1.0  # without an error nothing is known
                return max(0.0, value - reach), min(1.0, value + reach)
            odds, step = value / (1 - value), math.exp(min(reach / (value * (1 - value)), 700.0))
            return odds / (odds + step), odds / (odds + 1 / step)
        if math.isnan(reach):
            return reach, reach
        if value < _FAR_FROM_ZERO * self.error:
            return max(0.0, value - reach), value + reach
        factor = math.exp(reach / value)
        return value / factor, value * factor

    def row(self, level: float) -> dict[str, Any]:
        """The entries of a table."""
        low, high = self.interval(level)
        numbers = {"estimate": self.estimate, "error": self.error, "z": None, "p": self.p}
        numbers |= {"low": low, "high": high}
        entries = {key: None if number != number else number for key, number in numbers.items()}
        return {"value": None, "covariate": self.name, **entries}


@dataclass(frozen=True, eq=False)
class Coefficients(Tabular):
    """Estimated coefficients of E equations with p columns, and their covariance.

    Attributes:
        coefficients: (E, p).
        covariance: (E p, E p), of the coefficients in C order.
        names: (p,) the names of the columns; the intercept is ``Intercept``.
        outcomes: (E,) the value of each equation.
        n: the number of reports.
        errors: ``"observed"``, ``"sandwich"`` or ``"linearised"``, what the covariance is made of.
        status: how the fit ended. Its text says what to do.
        simulated: whether the reports are a simulation.
        design: how covariates become columns.
        survey: the weights, clusters and strata of the people; None without any.
        independent: (E p,) the variances that the coefficients would have of as many people who
            were drawn one by one with equal probabilities; None without a survey design.
        degrees: the degrees of freedom of the errors, infinite or (E p,) of a survey with a design.
            Tests and intervals then take Student's t in place of the normal distribution.
        others: what the model has beside coefficients; the last rows of its table.
        in_groups: the shares of all people, of designs of two groups that test themselves.
        doubts: what readers have to know of the reports, weights and columns, as sentences.
        on_paper: whether some of the people randomised their answers themselves.
        log_likelihood: of all reports, in nats; None where none was maximised. Of a survey with a
            design the weighted sum that was maximised, which is no likelihood to compare models by.
    """

    coefficients: FloatArray
    covariance: FloatArray = field(repr=False)
    names: tuple[str, ...]
    outcomes: tuple[Any, ...]
    n: int
    errors: str
    status: Ending
    simulated: bool
    design: Design = field(repr=False)
    survey: DrawnSample | None = field(repr=False)
    independent: FloatArray | None = field(repr=False)
    degrees: FloatArray = field(repr=False)
    others: tuple[Parameter, ...] = field(repr=False)
    in_groups: tuple[ClassShares, ...] = field(default=(), repr=False, kw_only=True)
    doubts: tuple[str, ...] = field(default=(), repr=False, kw_only=True)
    on_paper: bool = field(default=False, repr=False, kw_only=True)
    log_likelihood: float | None = field(default=None, repr=False, kw_only=True)

    def __post_init__(self) -> None:
        self.coefficients.setflags(write=False)
        self.covariance.setflags(write=False)

    @property
    def standard_errors(self) -> FloatArray:
        """The standard errors (E, p)."""
        variances = np.maximum(self.covariance.diagonal(), 0.0)
        return np.sqrt(variances).reshape(self.coefficients.shape)

    @property
    def z(self) -> FloatArray:
        """Coefficients divided by their standard errors, (E, p)."""
        errors = self.standard_errors
        safe = np.where(errors > 0, errors, 1.0)
        exact = np.where(self.coefficients == 0, 0.0, np.copysign(np.inf, self.coefficients))
        return np.where(errors > 0, self.coefficients / safe, exact)

    @property
    def design_effects(self) -> FloatArray | None:
        """By how much the survey design raises the variances, (E, p); None without a design.

        It compares with as many people who were drawn one by one with equal probabilities.
        """
        if self.independent is None:
            return None
        variances = self.covariance.diagonal() / self.independent
        return np.asarray(variances.reshape(self.coefficients.shape))

    @property
    def p_values(self) -> FloatArray:
        """Two-sided p-values (E, p) of "this coefficient is 0", see :attr:`degrees`."""
        z = np.abs(self.z)
        if self.survey is not None:
            return np.asarray(2 * scipy.special.stdtr(self.degrees.reshape(z.shape), -z))
        tails = [math.erfc(value / math.sqrt(2)) for value in z.ravel()]
        return np.array(tails).reshape(z.shape)

    def line(self, covariates: Any, level: float) -> FloatArray:
        """The first equation at m rows of covariates, and the ends of its intervals, (m, 3)."""
        z, width = self.design.matrix(covariates), len(self.names)
        centre = z @ self.coefficients[0]
        variances = np.einsum("mi,ij,mj->m", z, self.covariance[:width, :width], z)
        reach = normal_quantile(level, float(np.min(self.degrees))) * np.sqrt(
            np.maximum(variances, 0.0)
        )
        return np.stack([centre, centre - reach, centre + reach], axis=1)

    def interval(self, level: float = 0.95) -> FloatArray:
        """Confidence intervals (E, p, 2) of the coefficients, see :attr:`degrees`.

        Args:
            level: coverage of each interval by itself, in [0.5, 1).

        Raises:
            ArgumentError: a level outside [0.5, 1).
        """
        reaches = [normal_quantile(level, degrees) for degrees in self.degrees.ravel().tolist()]
        each = np.array(reaches).reshape(self.coefficients.shape if len(reaches) > 1 else 1)
        reach = each * self.standard_errors
        return np.stack([self.coefficients - reach, self.coefficients + reach], axis=-1)

    def odds_ratios(self, level: float = 0.95) -> FloatArray:
        """The factor by which one unit more of a covariate multiplies the odds, with its interval.

        The odds compare the value of each equation with the reference, with equal other
        covariates.

        Args:
            level: coverage of each interval by itself, in [0.5, 1).

        Returns:
            (E, p, 3): exp of the coefficients, and of the ends of their intervals.

        Raises:
            ArgumentError: another model than the logit, which has no odds ratios.
        """
        if not self._is_logit:
            rule, got, remedy = "exist only in a regression of shares with link='logit'", None, None
            if (link := getattr(self, "link", getattr(self, "family", "normal"))) != "normal":
                got, remedy = f"link={link!r}", "Regress again with link='logit'"
            raise ArgumentError("odds_ratios", rule, got, remedy)
        with np.errstate(over="ignore"):
            logs = np.concatenate([self.coefficients[..., None], self.interval(level)], axis=-1)
            return np.asarray(np.exp(logs))

    def wald(self, names: str | Iterable[str], outcomes: Iterable[Any] | None = None) -> WaldTest:
        """Test whether the coefficients of some columns are 0.

            b' V^-1 b, chi-square with k degrees of freedom, of k coefficients

        Of a survey with a design, V is estimated with few degrees of freedom r + k - 1: the
        statistic is then r / (r + k - 1) of that, and p of F(k, r), which is Hotelling's law.

        Args:
            names: a name, or several. A covariate of text stands for all of its columns, and so
                does a product of covariates such as ``"ward:age"``.
            outcomes: the equations, by their entries of :attr:`outcomes`. None for all of them, and
                for that of the sensitive item alone in a list experiment.

        Raises:
            ArgumentError: no such column, or no such equation.
        """
        listed = [names] if isinstance(names, str) else list(names)
        terms = [_term_of(name) for name in self.names]
        for name in listed or [""]:
            if name not in (*self.names, *terms):
                raise unknown("names", name, dict.fromkeys(terms), "the covariates")
        columns = [
            i
            for i, (name, term) in enumerate(zip(self.names, terms, strict=True))
            if name in listed or term in listed
        ]

        width, equations = len(self.names), self._tested if outcomes is None else outcomes
        of = [self.outcomes.index(choice("outcomes", each, self.outcomes)) for each in equations]
        places = [e * width + i for e in of for i in columns]
        b = self.coefficients.ravel()[places]
        inverse = np.linalg.pinv(self.covariance[np.ix_(places, places)], hermitian=True)
        statistic = float(b @ inverse @ b)
        verb = "are" if columns[1:] else "is"
        name = f"{series([self.names[i] for i in columns], 'and')} {verb} 0"
        if self.survey is None:
            return WaldTest.of(name, statistic, len(places), self.n)
        of_errors = float(self.degrees[places].min()) - len(places) + 1
        if of_errors < 1:
            rule = "are too many covariates to be tested together with so few clusters"
            got = f"{len(places)} coefficients"
            raise ArgumentError("names", rule, got, "Name fewer covariates")
        statistic *= of_errors / (of_errors + len(places) - 1)
        of_noise = of_errors / len(places)
        return WaldTest.of(name, statistic, len(places), self.n, of_noise=of_noise)

    def joint_tests(self) -> dict[str, WaldTest]:
        """The test of each covariate of text with more than two labels: do they make no difference?

        It is that of :meth:`wald`. A product with such a covariate is tested as well: all of its
        columns, without those of its factors alone, which have to be there. What stands in a larger
        product has no test, because its coefficients are of the people for whom the other factors
        are 0. Nothing is tested where coefficients have no meaning, or where too few clusters were
        drawn to test so many of them together.
        """
        columns = Counter(_term_of(name) for name in self.names if "[T." in name)
        factors = {term: set(term.split(":")) for term in map(_term_of, self.names)}
        tests: dict[str, WaldTest] = {}
        for term, count in columns.items():
            is_in_larger = any(factors[term] < others for others in factors.values())
            has_factors = all(factor in factors for factor in factors[term])
            if count > 1 and has_factors and not is_in_larger and self.status.is_final:
                with contextlib.suppress(ArgumentError):
                    tests[term] = self.wald(term)
        return tests

    def model_test(self) -> WaldTest | None:
        """The test of :meth:`wald` of all columns but the intercept: do they make no difference?

        None where coefficients have no meaning, of fewer than two columns, without an intercept,
        and where too few clusters were drawn to test so many of them together.
        """
        columns = [name for name in self.names if name != INTERCEPT]
        # Without an intercept, coefficients of 0 are shares of a half and not equal shares.
        if 1 < len(columns) < len(self.names) and self.status.is_final:
            with contextlib.suppress(ArgumentError):
                return self.wald(columns)
        return None

    def rows(self, level: float = 0.95) -> list[dict[str, Any]]:
        """The coefficients as a table.

        Args:
            level: coverage of the intervals, in [0.5, 1).

        Returns:
            One dict for each coefficient. Its keys are ``"value"``, the value of the equation,
            ``"covariate"``, ``"estimate"``, ``"error"``, ``"z"``, ``"p"``, ``"low"`` and
            ``"high"``; of a survey with a design also ``"design_effect"`` and the ``"degrees"`` of
            freedom of Student's t, which ``"z"`` then is; of a logit also the ``"odds_ratio"`` and
            the ends ``"odds_low"`` and ``"odds_high"`` of its interval. What a model has beside
            coefficients comes last: its value is None, and its name stands as the covariate.
            ``"status"`` says how the fit ended: coefficients that are ``"separated"`` or ``"flat"``
            have no meaning.
        """
        bounds, effects = self.interval(level), self.design_effects
        ratios = self.odds_ratios(level).tolist() if self._is_logit else None
        errors, z, p = self.standard_errors, self.z, self.p_values
        rows = [
            {
                "value": outcome,
                "covariate": name,
                "estimate": float(self.coefficients[e, i]),
                "error": float(errors[e, i]),
                "z": float(z[e, i]),
                "p": float(p[e, i]),
                "low": float(bounds[e, i, 0]),
                "high": float(bounds[e, i, 1]),
            }
            | (
                {}
                if effects is None
                else {
                    "design_effect": float(effects[e, i]),
                    "degrees": float(self.degrees[e * len(self.names) + i]),
                }
            )
            | ({} if ratios is None else dict(zip(_ODDS, ratios[e][i], strict=True)))
            for e, outcome in enumerate(self.outcomes)
            for i, name in enumerate(self.names)
        ]
        for other in self.others:
            degrees = {} if self.survey is None else {"degrees": other.degrees}
            rows.append(dict.fromkeys(rows[0]) | other.row(level) | degrees)
        return [{**row, "status": self.status.name.lower()} for row in rows]

    def table(self, level: float = 0.95) -> Table:
        """The coefficients as a table, with sentences that say how to read it.

        Args:
            level: coverage of the intervals, in [0.5, 1).
        """
        word = "Status" if self.status.is_final else "WARNING"
        status = f"{word}: {self.status.value}.{self._farthest}"
        # Of numbers alone, the sentence on odds says all of it.
        compared = self._compared if self.design.baselines else []
        sentences = [*compared, *self._sentences(level), status]
        sentences += [*self.doubts, *([FOLLOWED] if self.on_paper else [])]
        rows = [{**row, _NAMED: column_in_words(row["covariate"])} for row in self.rows(level)]
        interval = f"{100 * level:.4g} % interval"
        # Of the log-odds the errors are enough where there is little room, of odds ratios not.
        of_logs, of_odds = (3, 1) if self._is_of_odds and not self.others else (0, 3)
        odds = Column(
            _ODDS[0], "odds ratio (interval)", "ratio", of_odds, _ODDS[1:], has_value=True
        )
        columns = [
            Column("value", priority=5 if len(self.outcomes) == 1 and not self.others else 0),
            Column("covariate", shown=_NAMED),
            Column("estimate", unit="number"),
            Column("error", unit="number"),
            Column("z", self._statistic, "number", priority=3),
            Column("p", unit="probability"),
            Column("interval", interval, "number", of_logs, ends=("low", "high")),
            *([odds] if _ODDS[0] in rows[0] else []),
            *([] if self.survey is None else [_EFFECT, _DEGREES]),
            Column("status", unit="data"),
        ]
        summary = [
            ("People", f"{self.n:,}"),
            *([] if columns[0].priority == 0 else [("Value", as_text(self.outcomes[0]))]),
            *([(_COMPARED, self._baselines)] if self._baselines else []),
            *([] if self.survey is None else [("Survey design", self.survey.text)]),
            ("Standard errors", self.errors),
            *([] if self._likelihood is None else [("Log-likelihood", f"{self._likelihood:.3f}")]),
            *((f"Wald test that {each}", test.law) for each, test in self._hypotheses()),
        ]
        how = [" ".join([self._method, self._about_errors, self._about_tests])]
        return Table(columns, rows, sentences, "", self.simulated, how, summary)

    @explained
    def plot(
        self,
        path: str | None = None,
        level: float = 0.95,
        title: str | None = None,
        width: float | None = None,
    ) -> Any:
        """A forest plot: each odds ratio or coefficient as a dot with its interval.

        There is a panel for each value that is compared with the reference, without the intercept.
        Odds ratios have a logarithmic axis. A dot is filled where ``p`` is below 1 less the level.

        Args:
            path: the file to save the chart to (.png, .svg, .pdf, .html or .json); None saves no
                file.
            level: coverage of the intervals, in [0.5, 1).
            title: the title, such as the text of the question.
            width: of each panel in pixels, without the labels beside it; None for 460.

        Returns:
            The Altair chart.

        Raises:
            ArgumentError: no covariates, coefficients that have no meaning (see ``status``), or the
                path has another suffix.
            FileError: the file cannot be written.
            MissingExtraError: the extra 'plot' is not installed.
        """
        from warner.results.charts_of_groups import panel_of_forest
        from warner.results.drawing import finished, page, require_altair, titled

        keys, measured, none, law = ("estimate", "low", "high"), "coefficient", 0.0, "linear"
        if self._is_of_odds:
            keys, measured, none, law = _ODDS, "odds ratio", 1.0, "log"
        scale = require_altair().Scale(type=law, nice=False)
        panels: dict[str, list[dict[str, Any]]] = {}
        for row in self.rows(level)[: self.coefficients.size]:
            if row["covariate"] != INTERCEPT:
                numbers = zip(("difference", "low", "high"), map(row.get, keys), strict=True)
                about_row = {
                    "pair": column_in_words(row["covariate"]),
                    "differs": row["p"] < 1 - level,
                }
                panels.setdefault(as_text(row["value"]), []).append({**dict(numbers), **about_row})
        if not panels or not self.status.is_final:
            rule = self.status.value if panels else "has no covariates to draw"
            raise ArgumentError("plot", rule, None, "Print the table instead")
        about = [
            reports_of(self.n, self.simulated),
            f"Lines: {100 * level:.4g} % intervals.",
            f"Filled dots: p below {1 - level:.3g}. Hollow dots: all others.",
            *self._compared,
            *self.doubts,
        ]
        drawn = [panel_of_forest(*each, measured, scale, none) for each in panels.items()]
        picture = page(drawn, titled(title or "Regression", about))
        return finished(picture, lambda: [self.table(level)], path, width)

    def to_json(self, level: float = 0.95) -> dict[str, Any]:
        """The regression as JSON data.

        ``"covariance"`` has the matrix of the estimates, and the names of its rows: columns, behind
        the value of the equation where there are several.

        Args:
            level: coverage of the intervals, in [0.5, 1).
        """
        of_all = self.model_test()
        return {
            "format": "warner-regression",
            "schema": 1,
            "n": self.n,
            "status": self.status.name.lower(),
            "status_text": self.status.value,
            "errors": self.errors,
            **({"simulated": True} if self.simulated else {}),
            "level": level,
            **({} if self.survey is None else self.survey.to_json()),
            **({"fit_tests": self._fit_tests} if self._fit_tests else {}),
            **({"doubts": list(self.doubts)} if self.doubts else {}),
            "log_likelihood": self._likelihood,
            "joint_tests": [
                {"covariate": name, **test.to_json()} for name, test in self.joint_tests().items()
            ],
            "model_test": None if of_all is None else of_all.to_json(),
            **({} if self._tested == self.outcomes else {"tested": list(self._tested)}),
            "coefficients": self.rows(level),
            "covariance": {
                "names": [
                    name if len(self.outcomes) == 1 else f"{as_text(outcome)}:{name}"
                    for outcome in self.outcomes
                    for name in self.names
                ],
                "matrix": self.covariance.tolist(),
            },
        }

    @property
    def _farthest(self) -> str:
        """Which coefficient grows without end, as far as the estimates show it."""
        if self.status is not Ending.SEPARATED:
            return ""
        size, outcome, name = max(
            (abs(size), str(outcome), name)
            for outcome, of_outcome in zip(self.outcomes, self.coefficients, strict=True)
            for name, size in zip(self.names, of_outcome.tolist(), strict=True)
            if name != INTERCEPT or len(self.names) == 1
        )
        of_value = f" for {outcome!r}" if len(self.outcomes) > 1 else ""
        shown = column_in_words(name)
        return f" The coefficient of {shown!r}{of_value} is farthest from 0: {size:.3g} away."

    @property
    def _tested(self) -> tuple[Any, ...]:
        """The equations whose coefficients are tested together."""
        return self.outcomes

    @property
    def _likelihood(self) -> float | None:
        """The log-likelihood to compare models by; None of weighted sums and least squares."""
        return self.log_likelihood if self.survey is None else None

    @property
    def _compared_with(self) -> Mapping[str, Any]:
        """{column of labels, or the answer: the label that the others are compared with}."""
        return self.design.baselines

    @property
    def _baselines(self) -> str:
        """The same in words."""
        named = [f"{name} {label}" for name, label in self._compared_with.items()]
        return series(named, "and") if named else ""

    @property
    def _compared(self) -> list[str]:
        """The same as a sentence, as the summary of a table in a paper has it; [] where none is."""
        return [f"{_COMPARED}: {self._baselines}."] if self._baselines else []

    @property
    def _is_logit(self) -> bool:
        """Whether coefficients add to log-odds, so that their exponentials are odds ratios."""
        return False

    @property
    def _is_of_odds(self) -> bool:
        """Whether all coefficients add to log-odds, not only those of some equations."""
        return self._is_logit

    @property
    def _statistic(self) -> str:
        """The name of an estimate divided by its error, by the law that p takes."""
        return "z" if self.survey is None else "t"

    @property
    def _has_clusters(self) -> bool:
        return self.survey is not None and self.survey.design.cluster is not None

    @property
    def _fit_tests(self) -> list[dict[str, Any]]:
        """The tests of designs, which hold for people who were drawn one by one."""
        tests = [each.fit_test for each in self.in_groups if not self._has_clusters]
        return [test._asdict() for test in tests if test is not None]

    @property
    def _about_designs(self) -> Iterator[str]:
        """What a reader has to know of designs that test themselves."""
        for each in self.in_groups:
            if self._has_clusters:
                yield (
                    "The design is not tested here, because people were drawn in clusters. For a "
                    "test that allows for the clusters, run warner estimate with the same options."
                )
            else:
                counted = " The test counts each person once." if self.survey is not None else ""
                yield f"{each.about_test}{counted} {each.design.note}"

    def _about_fit(self, level: float) -> Iterator[str]:
        """The log-likelihood, to compare models by, and the joint tests of covariates."""
        if self._likelihood is not None:
            count = len(self.rows(level))
            yield (
                f"The log-likelihood is {self._likelihood:.3f}, with {count} "
                f"parameter{'s' * (count != 1)} and {self.n:,} people."
            )
        elif self.log_likelihood is not None:
            yield (
                "With weights, clusters or strata there is no likelihood, so models can be "
                "compared only by Wald tests."
            )
        for hypothesis, test in self._hypotheses():
            yield f"Wald test that {hypothesis}: {test.law}."

    @property
    def _method(self) -> str:
        """How the estimates were computed, as sentences for readers who ask."""
        weighed = "" if self.survey is None else ", in which each person counts by the weight"
        return f"Method: maximum likelihood of the reports{weighed}."

    @property
    def _about_errors(self) -> str:
        """How the errors were computed, likewise."""
        if self.errors == "observed":
            return (
                "Standard errors come from the observed information, which is minus the second "
                "derivatives of the log-likelihood. They are the square roots of the diagonal of "
                "its inverse."
            )
        sandwich = (
            "Standard errors are the square roots of the diagonal of a product: the inverse "
            "information, times the sum of "
        )
        if self.survey is None:
            return f"{sandwich}the squared scores of people, times the inverse information again."
        units = "clusters" if self._has_clusters else "people"
        of = " of the stratum" if self.survey.design.strata is not None else ""
        return (
            f"{sandwich}the squared scores of {units}, times the inverse information again. The "
            f"mean{of} is subtracted from each score, and each square is multiplied by G / (G - "
            f"1), where G is the number of {units}{of}."
        )

    @property
    def _about_tests(self) -> str:
        """How p and the intervals were computed, likewise."""
        law = (
            f"{self._statistic} is the estimate divided by its error. p and the intervals are "
            "computed "
        )
        if self.survey is None:
            law += "from the normal distribution."
        else:
            units = "clusters" if self._has_clusters else "people"
            less = (
                " minus the number of strata"
                if self.survey.design.strata is not None
                else " minus 1"
            )
            low, high = float(np.min(self.degrees)), float(np.max(self.degrees))
            several = f"{low:.4g} to {high:.4g}" if high > low else f"{low:.4g}"
            law += (
                f"from Student's t with {several} degrees of freedom. These degrees are at most "
                f"{self.survey.degrees:,}, the number of {units}{less}"
            )
            law += ", and fewer if a coefficient depends on few clusters" * self._has_clusters
            law += "."
        by_ratio = [other.name for other in self.others if other.p is not None]
        if by_ratio:
            law += (
                f" The p of {' and '.join(by_ratio)} comes from a likelihood-ratio test against 0."
            )
        return law

    def _hypotheses(self) -> Iterator[tuple[str, WaldTest]]:
        """What is tested of several coefficients together, in words, and its test."""
        for name, test in self.joint_tests().items():
            factors = name.split(":")
            product = f"the product of {' and '.join(factors)}" if factors[1:] else name
            yield f"{product} makes no difference{self._to_what}", test
        if (of_all := self.model_test()) is not None:
            yield f"no covariate makes a difference{self._to_what}", of_all

    @property
    def _to_what(self) -> str:
        """To which of the equations covariates make a difference, in words; "" for all."""
        return "" if self._tested == self.outcomes else f" to the {' and the '.join(self._tested)}"

    def _sentences(self, level: float) -> list[str]:
        """What :meth:`table` says below its rows."""
        units = "clusters" if self._has_clusters else "people"
        when = {
            "observed": "if the model is right (they come from the observed information)",
            "sandwich": "even if the model is wrong (they come from the sandwich formula)",
            "linearised": f"even if the model is wrong (they come from the sums over {units})",
        }[self.errors]
        drawn = "" if self.survey is None else f", {self.survey.text}"
        return [
            f"{reports_of(self.n, self.simulated)}{drawn}. The standard errors hold {when}. "
            f"The {100 * level:.4g} % intervals hold for each coefficient by itself.",
            *self._about_fit(level),
            *(other.meaning for other in self.others if other.meaning),
            *self._about_designs,
        ]


def _term_of(column: str) -> str:
    """The covariate of a column, or the product of covariates, without labels.

    >>> _term_of("age"), _term_of("ward[T.north]"), _term_of("ward[T.a:b]:age")
    ('age', 'ward', 'ward:age')
    """
    return ":".join(factor.partition("[")[0] for factor in _BETWEEN_FACTORS.split(column))


def column_in_words(column: str) -> str:
    """A column of a regression as people read it.

    >>> column_in_words("ward[T.north]"), column_in_words("ward[T.a:b]:age")
    ('ward: north', 'ward: a:b x age')
    """
    factors = _BETWEEN_FACTORS.split(column)
    return " x ".join(re.sub(r"\[T\.([^\]]*)\]", r": \1", factor) for factor in factors)


# -----------------------------------------------------------------------------------------------
# From a likelihood to coefficients and errors.


@dataclass(frozen=True, eq=False)
class Solution:
    """The maximum of a likelihood, with the errors of its P coefficients.

    Attributes:
        best: where it is, in coefficients of its own.
        theta: (P,) the coefficients that are asked for.
        covariance: (P, P).
        independent: (P,) the variances of people who were drawn one by one; None without a design.
        degrees: infinite, or (P,).
    """

    best: Maximum
    theta: FloatArray
    covariance: FloatArray
    independent: FloatArray | None
    degrees: FloatArray

    def degrees_at(self, i: int) -> float:
        """The degrees of freedom of one coefficient."""
        return float(self.degrees.ravel()[min(i, self.degrees.size - 1)])


def solved(
    likelihood: Likelihood, turn: FloatArray, errors: str | None, drawn: DrawnSample | None
) -> Solution:
    """The maximum, in the coefficients T theta that are asked for, with the turn T (P, P)."""
    best = maximize(likelihood)
    covariance = best.covariance
    if errors == "sandwich":
        covariance = covariance @ best.point.squared_scores() @ covariance
    if drawn is not None:
        sums = drawn.root(best.point.scores_of_clusters(drawn))
        whitened = (sums @ np.linalg.cholesky(covariance))[:, : likelihood.inner]
        drawn.require_spread(whitened.T @ whitened)
        root = sums @ covariance
        covariance = root.T @ root
    return Solution(
        best,
        turn @ best.beta,
        turn @ covariance @ turn.T,
        None if drawn is None else diagonal_of(turn, best.covariance),
        NORMAL if drawn is None else best.point.degrees(drawn, turn),
    )


def diagonal_of(turn: FloatArray, covariance: FloatArray) -> FloatArray:
    """The diagonal of T C T'."""
    return np.asarray(((turn @ covariance) * turn).sum(axis=1))
