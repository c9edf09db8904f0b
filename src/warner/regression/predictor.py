"""Regression of an outcome that is seen on a hidden answer, and on public covariates."""

from __future__ import annotations

import itertools
import numbers
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from warner._core.checks import show, unknown
from warner._core.errors import ArgumentError, ArgumentTypeError
from warner._core.table import as_text
from warner.channels import FloatArray, IntArray
from warner.regression.coefficients import Coefficients, Parameter, one_unit_more, solved
from warner.regression.covariates import Column, design_of, in_formula, names_of_sum, words_of
from warner.regression.likelihood import Mixture, Predictor, RandomIntercepts
from warner.regression.people import Answers, Classes, Nuisance, People
from warner.regression.pieces import Binary, Normal, share_of
from warner.regression.shares import (
    Parts,
    Regression,
    deviation_of,
    fields_of,
    label_of,
    orthonormal,
    require_few,
    share_parameter,
    with_intercepts,
)

_MOST_CLASSES = 64


@dataclass(frozen=True, eq=False)
class PredictorRegression(Coefficients):
    """A regression of an outcome that is seen, among whose predictors is a hidden answer.

    A number is normal with the mean gamma w; of two values the second has the share F(gamma w). The
    covariates w have the hidden answer among them.

    Attributes:
        outcome: the name of the outcome.
        family: ``"normal"`` for a number, or the link F of two values.
        questions: the names of the hidden answers.
        hidden: the regression of the hidden answer on its covariates, estimated with it.
        steps: the number of steps of Newton's method.
        coefficients, covariance, names, outcomes, n, errors, status, simulated, design, others: see
            :class:`Coefficients`. There is one equation.
    """

    outcome: str
    family: str
    questions: tuple[str, ...]
    hidden: Regression = field(repr=False)
    steps: int = field(repr=False)

    def __repr__(self) -> str:
        about = f"{len(self.names)} coefficients, n={self.n}"
        return f"PredictorRegression({self.outcome!r}, {about}, status={self.status.name})"

    def rows(self, level: float = 0.95) -> list[dict[str, Any]]:
        """The rows of :class:`Coefficients`, and then those of the hidden answer.

        Args:
            level: coverage of the intervals, in [0.5, 1).
        """
        question = " and ".join(self.questions)
        of_hidden = [
            {**row, "value": question if row["value"] is None else self._answered(row["value"])}
            for row in self.hidden.rows(level)
        ]
        label = self.outcomes[0]
        title = self.outcome if label == self.outcome else f"{self.outcome}: {label}"
        rows = [{**row, "value": title} for row in super().rows(level)]
        return [{key: row.get(key) for key in of_hidden[0]} for row in (*rows, *of_hidden)]

    def _answered(self, answer: Any) -> str:
        """The hidden answer, or answers, with the names of the questions."""
        answers = answer if len(self.questions) > 1 else (answer,)
        pairs = zip(self.questions, answers, strict=True)
        return ", ".join(f"{name}: {as_text(each)}" for name, each in pairs)

    def to_json(self, level: float = 0.95) -> dict[str, Any]:
        """The regression as JSON data.

        Args:
            level: coverage of the intervals, in [0.5, 1).
        """
        return {
            "outcome": self.outcome,
            "family": self.family,
            "hidden": list(self.questions),
            "reference": self.hidden.reference,
            "steps": self.steps,
            **super().to_json(level),
        }

    def predict(self, covariates: Any, level: float = 0.95) -> FloatArray:
        """The mean of the outcome, or the share of its second value, at some covariates.

        With random intercepts it is that in a group in the middle.

        Args:
            covariates: m rows, in the form of those of the fit, with a column of hidden answers.
            level: coverage of each interval by itself, in [0.5, 1).

        Returns:
            (m, 3): the estimate and the ends of its interval.

        Raises:
            ArgumentError: covariates that do not fit, or a level outside [0.5, 1).
        """
        ends = self.line(covariates, level)
        return ends if self.family == "normal" else share_of(ends, self.family)[0]

    @property
    def _is_logit(self) -> bool:
        return self.family == "logit"

    @property
    def _is_of_odds(self) -> bool:
        return False

    def _sentences(self, level: float) -> list[str]:
        larger = {
            "normal": f"the mean of {self.outcome} is",
            "logit": f"the log-odds of {self.outcome} are",
        }.get(self.family, f"the {self.family} of {self.outcome} is")
        answers = " and ".join(self.questions)
        return [
            f"{one_unit_more(larger)} Nobody's answer to {answers} is known. So the regression "
            "uses the probability of each answer, computed from the report and the outcome. The "
            f"last rows are about the answers to {answers}. These rows are log-odds, compared with "
            f"{self._answered(self.hidden.reference)}.",
            *super()._sentences(level),
        ]


class _Question(NamedTuple):
    """A hidden answer among the predictors."""

    name: str
    answers: Answers
    classes: Classes
    column: Column  # (K,) its values as numbers or as text, in the order of the answers


def hidden_predictor_of(
    people: People, hidden: Any, reference: Any, errors: str | None, trusted: bool, link: str
) -> PredictorRegression:
    """The regression on a hidden answer: see :func:`warner.regress`."""
    outcome, right = _sides(people.formula)
    names, hidden_right = _hidden(hidden, outcome, right)
    columns = dict(people.columns)
    for name in names:
        if name in columns:
            rule = "must not also be the name of a covariate"
            raise ArgumentError("hidden", rule, show(name), "Rename one of them")
    seen = people.column("the outcome (left of the formula)", outcome)
    questions = [_question(people, name, len(names) > 1, trusted) for name in names]
    if reference is not None:
        if len(questions) > 1:
            rule = "can be given for one hidden answer only"
            raise ArgumentError(
                "reference", rule, f"hidden={hidden!r}", "Leave out the argument reference"
            )
        label = label_of(questions[0].answers.domain, reference)
        classes = questions[0].classes.with_reference(label)
        questions[0] = questions[0]._replace(classes=classes, column=_column_of(classes.labels))
    classes, rows = _joint(questions)
    n, size = people.total, len(classes.labels)

    # The covariates of the outcome, at each value that the hidden answers can have.
    places = np.indices([len(q.column) for q in questions]).reshape(len(questions), -1)
    every = {name: np.tile(column, size) for name, column in columns.items() if name != outcome}
    every |= {q.name: np.repeat(q.column[at], n) for q, at in zip(questions, places, strict=True)}
    ordered = {q.name: tuple(q.column.tolist()) for q in questions if q.column.dtype.kind != "f"}
    design, stacked = design_of(every, right, people.ordered | ordered)
    hidden_design, matrix = design_of(columns, hidden_right, people.ordered)
    drawn = people.sample(np.arange(n), max(stacked.shape[1], matrix.shape[1]))
    require_few((size - 1) * matrix.shape[1] + stacked.shape[1])

    weights = np.ones(n) if drawn is None else drawn.weights

    # What the reports say by themselves: where a search begins.
    alone = np.zeros((n, size))
    np.add.at(alone.T, classes.answer, (rows / rows.sum(axis=1, keepdims=True)).T)
    parts = Parts()
    turn = orthonormal(matrix, weights, hidden_design.names)
    parts.hidden(classes, matrix @ turn, "logit")
    first = len(parts.predictors)
    of_outcome = orthonormal(stacked, (alone * weights[:, None]).T.ravel(), design.names)
    turned = (stacked @ of_outcome).reshape(size, n, -1)
    kind = _Outcome.of(outcome, seen, link)
    kind.add(parts, turned, alone * weights[:, None], classes.answer)
    mixture = parts.mixture(rows, weights)
    likelihood: Mixture | RandomIntercepts = mixture
    if people.random is not None:
        shifted = range(first, first + size)
        likelihood = with_intercepts(mixture, shifted, people, np.arange(n), drawn)

    count, nuisances = (size - 1) * matrix.shape[1], len(classes.nuisances)
    start = count + nuisances
    end = start + stacked.shape[1]
    whole = np.eye(len(likelihood.start))
    whole[:count, :count] = np.kron(np.eye(size - 1), turn)
    whole[start:end, start:end] = of_outcome * kind.scale
    if people.random is not None:
        whole[-1, -1] = kind.scale
    solution = solved(likelihood, whole, errors, drawn)
    used = "linearised" if drawn is not None else errors or "observed"
    others = []
    if kind.family == "normal":
        deviation = float(np.exp(solution.theta[end])) * kind.scale
        error = deviation * float(np.sqrt(max(solution.covariance[end, end], 0.0)))
        degrees = solution.degrees_at(end)
        name = "sd(residual)"
        others.append(Parameter(name, deviation, error, False, degrees=degrees))
    if isinstance(likelihood, RandomIntercepts):
        others.append(deviation_of(people, solution, likelihood, used))
    constant = sum(
        float(np.average(q.answers.logs[q.answers.report], weights=weights)) for q in questions
    )
    common: dict[str, Any] = {
        "survey": drawn,
        "n": n,
        "errors": used,
        "simulated": people.simulated,
        "log_likelihood": solution.best.point.value + n * (constant - np.log(kind.scale)),
        "steps": solution.best.steps,
    }
    shares = [
        share_parameter(x, classes, solution, count + i) for i, x in enumerate(classes.nuisances)
    ]
    return PredictorRegression(
        **fields_of(solution, slice(start, end), design, [kind.label], others),
        **common,
        in_groups=people.in_groups,
        doubts=(
            *people.doubts(drawn, hidden_right),
            *(doubt for each in questions for doubt in each.answers.doubts),
        ),
        on_paper=any(each.answers.on_paper for each in questions),
        outcome=outcome,
        family=kind.family,
        questions=tuple(names),
        hidden=Regression(
            **fields_of(solution, slice(0, count), hidden_design, classes.labels[1:], shares),
            **common,
            reference=classes.labels[0],
            values=classes.labels,
        ),
    )


@dataclass(frozen=True)
class _Outcome:
    """What is seen of people: a number, or one of two values."""

    family: str  # "normal", or the link of two values
    label: str  # what the coefficients are of: the number, or the second value
    values: FloatArray  # (n,) numbers in units of their deviation, or 0 and 1
    scale: float  # that unit

    @classmethod
    def of(cls, name: str, column: Column, link: str) -> _Outcome:
        """The outcome in a column."""
        different = np.unique(column)
        if len(different) < 2:
            rule = "must not have the same value in all rows"
            remedy = "Name another column left of ~ in the formula"
            raise ArgumentError(f"outcome {name!r}", rule, None, remedy)
        if column.dtype.kind == "f" and not np.array_equal(different, [0.0, 1.0]):
            if link != "logit":
                rule = "can be used only for an outcome with two values"
                got = f"numbers in {name!r}"
                raise ArgumentError(f"link={link!r}", rule, got, "Leave out the argument link")
            scale = float(np.std(column))
            return cls("normal", name, column / scale, scale)
        if len(different) > 2:
            rule = "must be a number, or have two values"
            got = f"{len(different)} different texts"
            raise ArgumentTypeError(f"outcome {name!r}", rule, got, "Merge the texts into two")
        label = name if column.dtype.kind == "f" else str(different[1])
        return cls(link, label, (column == different[1]).astype(np.float64), 1.0)

    def add(
        self, parts: Parts, covariates: FloatArray, masses: FloatArray, answer: IntArray
    ) -> None:
        """Add the piece of the outcome: covariates (K, n, p), masses (n, K) of the answers."""
        _, n, width = covariates.shape
        start = np.zeros(width)
        if self.family == "normal":
            # Least squares: the columns are orthonormal, times sqrt(n), in these weights.
            start = np.einsum("knp,nk,n->p", covariates, masses, self.values) / masses.sum()
        places = parts.columns(start)
        parts.predictors += [Predictor(each, places) for each in covariates]
        if self.family != "normal":
            label = self.values.astype(np.int64)[:, None]
            parts.pieces.append(Binary(self.family, label, answer))
            return
        rest = self.values[:, None] - np.einsum("knp,p->nk", covariates, start)
        spread = np.sqrt(float((masses * rest**2).sum() / masses.sum()))
        parts.pieces.append(Normal(self.values, answer))
        log = parts.columns([float(np.log(max(spread, 1e-6)))])
        parts.predictors.append(Predictor(np.ones((n, 1)), log))


def _sides(formula: Any) -> tuple[str, str]:
    """The outcome and the right side of a formula."""
    left, tilde, right = (formula if isinstance(formula, str) else "").partition("~")
    if not (left.strip() and tilde and right.strip()):
        rule = "must have the outcome left of ~, because hidden= names a predictor"
        remedy = "For example 'salary ~ smokes + age'"
        raise ArgumentError("formula", rule, show(formula), remedy)
    outcome = names_of_sum(left)
    return outcome[0] if outcome and len(outcome) == 1 else left.strip(), right.strip()


def _hidden(hidden: Any, outcome: str, right: str) -> tuple[list[str], str]:
    """The names of the hidden answers, and the covariates that their shares depend on."""
    left, tilde, given = (hidden if isinstance(hidden, str) else "").partition("~")
    names = names_of_sum(left)
    if not names:
        rule = "must name the hidden answer among the predictors"
        remedy = "For example hidden='smokes', or hidden='smokes ~ age' if its share depends on age"
        raise ArgumentError("hidden", rule, show(hidden), remedy)
    terms = names_of_sum(right)
    words = set(words_of(right)) if terms is None else set(terms)
    for name in names:
        if name not in words:
            raise unknown("hidden", name, sorted(words), "the predictors of the formula")
    if tilde:
        if outcome in words_of(given):
            rule = f"must not depend on the outcome {outcome!r}"
            remedy = f"Leave out {outcome!r} right of ~"
            raise ArgumentError("hidden", rule, show(hidden), remedy)
        return names, given.strip()
    if terms is None:
        rule = "must say, with this formula, what the share of the hidden answer depends on"
        remedy = (
            f"For example '{names[0]} ~ age', or '{names[0]} ~ 1' if this share depends on nothing"
        )
        raise ArgumentError("hidden", rule, show(hidden), remedy)
    return names, " + ".join(in_formula(each) for each in terms if each not in names) or "1"


def _question(people: People, name: str, among_several: bool, trusted: bool) -> _Question:
    """A hidden answer with the reports of it."""
    attributes = people.attributes
    if people.named and name not in people.named:
        raise unknown("hidden", name, people.named, "the questions")
    if among_several and not people.named and not attributes:
        rule = "names several answers, but the reports are of one question"
        remedy = "Pass {name: reports} with the reports of each question"
        raise ArgumentError("hidden", rule, None, remedy)
    attribute = name if not people.named and name in attributes else None
    answers = people.of_each(attribute, trusted, name if people.named else None)
    classes = answers.classes
    if why := classes.without_answer:
        other = in_formula(_sides(people.formula)[0])
        remedy = (
            f"Make {name!r} the outcome: leave out hidden, and write for example formula={other!r}"
        )
        raise ArgumentError("hidden", f"cannot be {name!r}: {why}", None, remedy)
    return _Question(name, answers, classes, _column_of(classes.labels))


def _column_of(labels: tuple[Any, ...]) -> Column:
    """Answers as a covariate: numbers as they are, everything else as text."""
    if all(isinstance(label, numbers.Real | bool | np.bool_) for label in labels):
        return np.array([float(label) for label in labels])
    return np.array([as_text(label) for label in labels])


def _joint(questions: list[_Question]) -> tuple[Classes, FloatArray]:
    """The classes of several hidden answers together, and the likelihoods (n, C) of the reports."""
    rows = [q.answers.rows[q.answers.report] for q in questions]
    if len(questions) == 1:
        return questions[0].classes, rows[0]
    classes = [question.classes for question in questions]
    shape = [len(each.answer) for each in classes]
    if (count := int(np.prod(shape))) > _MOST_CLASSES:
        rule = f"must have at most {_MOST_CLASSES} combinations of values"
        raise ArgumentError("hidden", rule, str(count), "Name fewer hidden answers")
    at = np.indices(shape).reshape(len(shape), -1)
    joint = rows[0]
    for each in rows[1:]:
        joint = (joint[:, :, None] * each[:, None, :]).reshape(len(joint), -1)
    answers = [each.answer[i] for each, i in zip(classes, at, strict=True)]
    labels = tuple(itertools.product(*(each.labels for each in classes)))
    nuisances = tuple(
        Nuisance(f"{nuisance.name} ({question.name})", nuisance.meaning, nuisance.label[i])
        for question, each, i in zip(questions, classes, at, strict=True)
        for nuisance in each.nuisances
    )
    sizes = [len(each.labels) for each in classes]
    return Classes(labels, np.ravel_multi_index(answers, sizes), nuisances), joint
