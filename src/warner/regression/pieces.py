"""The pieces of a likelihood: how a hidden class, or what is seen beside it, depends on predictors.

    l(theta) = sum_i w_i log sum_c A[y_i, c] prod_pieces d(c; t_i),   t_im = X_im theta

A class c is an answer, or an answer and what a design adds to it, such as honesty. A piece is the
logarithm of one factor d as a function of few linear predictors t: of a choice among answers, of
one of two things with a link, or of a number that is seen. Each gives its derivatives, so that the
likelihood, its gradient and its information are computed once for all of them
(:mod:`warner.regression.likelihood`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np

from warner._core.extras import scipy
from warner.channels import FloatArray, IntArray

LINKS = ("logit", "probit", "cloglog", "cauchit")
_LARGEST = 700.0  # whose exponential is a float
_LARGEST_SD = 35.0  # of a probit or a complementary log-log, beyond which logarithms underflow
_LEAST = 1e-300


class Terms(NamedTuple):
    """A factor at n people, for C classes, each of which d of the m predictors matter to.

    Where all classes have the same derivatives, the axis C has the length 1.
    """

    logs: FloatArray  # (n, C) log d
    score: FloatArray  # (n, C, d) its derivatives
    hessian: FloatArray  # (n, C, d, d)
    information: FloatArray  # (n, C, d, d) the expected information, were the class known
    places: IntArray  # (C, d) the predictors


class Piece(Protocol):
    """One factor of the likelihood."""

    @property
    def size(self) -> int:
        """The number m of its linear predictors."""

    def at(self, t: FloatArray) -> Terms:
        """The factor at linear predictors t (n, m)."""

    def of(self, people: slice | IntArray) -> Piece:
        """The factor of some of the people."""


@dataclass(frozen=True, eq=False)
class Choice:
    """A choice among answers by a multinomial logit; the first answer is the reference."""

    answer: IntArray  # (C,) the number of the answer of each class
    answers: int  # their number K

    @property
    def size(self) -> int:
        return self.answers - 1

    def of(self, people: slice | IntArray) -> Choice:
        return self

    def at(self, t: FloatArray) -> Terms:
        pi = softmax(t)
        spread = -pi[:, 1:, None] * pi[:, None, 1:]
        each = np.arange(self.size)
        spread[:, each, each] += pi[:, 1:]
        chosen = np.eye(self.answers)[:, 1:][self.answer]
        logs = np.log(np.maximum(pi, _LEAST))[:, self.answer]
        score = chosen[None] - pi[:, None, 1:]
        places = np.tile(each, (len(self.answer), 1))
        return Terms(logs, score, -spread[:, None], spread[:, None], places)


@dataclass(frozen=True, eq=False)
class Binary:
    """One of two things, whose probability is a link's function of a predictor."""

    link: str  # a name of LINKS
    label: IntArray  # (C,) or (n, C), 1 or 0; -1 where a class has no part in it
    predictor: IntArray  # (C,) the number of the predictor of each class

    @property
    def size(self) -> int:
        return int(self.predictor.max()) + 1

    def of(self, people: slice | IntArray) -> Binary:
        return self if self.label.ndim == 1 else replace(self, label=self.label[people])

    def at(self, t: FloatArray) -> Terms:
        no, yes = log_shares(t[:, self.predictor], self.link)
        is_yes, matters = self.label == 1, self.label >= 0
        # log d, its slope and its curvature, by label; the information is that of both labels.
        logs, slope, curvature = (
            np.where(is_yes, y, n) * matters for y, n in zip(yes, no, strict=True)
        )
        shares = np.exp(yes[0]), np.exp(no[0])
        information = (shares[0] * yes[1] ** 2 + shares[1] * no[1] ** 2) * matters
        first, second, expected = slope[..., None], curvature[..., None, None], information
        return Terms(logs, first, second, expected[..., None, None], self.predictor[:, None])


@dataclass(frozen=True, eq=False)
class Normal:
    """A number that is seen: normal, with means that depend on the class and one deviation.

    The last predictor is the logarithm of the standard deviation.
    """

    numbers: FloatArray  # (n,) what is seen
    predictor: IntArray  # (C,) the number of the predictor of the mean of each class

    @property
    def size(self) -> int:
        return int(self.predictor.max()) + 2

    def of(self, people: slice | IntArray) -> Normal:
        return replace(self, numbers=self.numbers[people])

    def at(self, t: FloatArray) -> Terms:
        n, classes = len(t), len(self.predictor)
        deviation = np.exp(np.clip(t[:, -1:], -_LARGEST / 2, _LARGEST / 2))
        rest = (self.numbers[:, None] - t[:, self.predictor]) / deviation
        logs = -0.5 * rest**2 - t[:, -1:] - 0.5 * np.log(2 * np.pi)
        score = np.stack([rest / deviation, rest**2 - 1], axis=-1)
        hessian, information = np.zeros((2, n, classes, 2, 2))
        hessian[..., 0, 0] = -1 / deviation**2
        hessian[..., 0, 1] = hessian[..., 1, 0] = -2 * rest / deviation
        hessian[..., 1, 1] = -2 * rest**2
        information[..., 0, 0] = 1 / deviation**2
        information[..., 1, 1] = 2.0
        places = np.stack([self.predictor, np.full(classes, self.size - 1)], axis=1)
        return Terms(logs, score, hessian, information, places)


def softmax(eta: FloatArray) -> FloatArray:
    """The shares (g, E + 1) of log-odds eta (g, E) against a reference, which comes first."""
    logs = np.concatenate([np.zeros((len(eta), 1)), eta], axis=1)
    logs -= logs.max(axis=1, keepdims=True)
    shares = np.exp(logs)
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


Derivatives = tuple[FloatArray, FloatArray, FloatArray]


def log_shares(t: FloatArray, link: str) -> tuple[Derivatives, Derivatives]:
    """The logarithms of 1 - F(t) and of F(t), each with its first and second derivative."""
    if link == "cloglog":
        # log(1 - F) = -e^t, and F = 1 - exp(-e^t)
        rate = np.exp(np.clip(t, -_LARGEST_SD, np.log(_LARGEST)))
        fraction = rate / np.expm1(rate)
        yes = np.log(-np.expm1(-rate)), fraction, fraction * (1 - rate - fraction)
        return (-rate, -rate, -rate), yes
    one = _log_share(t, link)
    mirrored = _log_share(-t, link)  # of a symmetric law, 1 - F(t) = F(-t)
    return (mirrored[0], -mirrored[1], mirrored[2]), one


def share_of(t: FloatArray, link: str) -> tuple[FloatArray, FloatArray]:
    """F(t) and its derivative."""
    logs, slope, _ = log_shares(t, link)[1]
    share = np.exp(logs)
    return share, share * slope


def _log_share(t: FloatArray, link: str) -> Derivatives:
    """log F(t) of a symmetric law, with its derivatives."""
    if link == "logit":
        t = np.clip(t, -_LARGEST, _LARGEST)
        other = 1 / (1 + np.exp(t))
        return -np.logaddexp(0.0, -t), other, -other * (1 - other)
    if link == "probit":
        t = np.clip(t, -_LARGEST_SD, _LARGEST_SD)
        logs = scipy.special.log_ndtr(t)
        slope = np.exp(-0.5 * t**2 - 0.5 * np.log(2 * np.pi) - logs)
        return logs, slope, -slope * (t + slope)
    share = np.arctan2(1.0, -t) / np.pi  # 1/2 + arctan(t)/pi, without loss far on the left
    slope = 1 / (np.pi * (1 + t**2) * share)
    return np.log(share), slope, -slope * (2 * t / (1 + t**2) + slope)
