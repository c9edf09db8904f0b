"""Channels: the law of reports as a linear operator A (m, K), A[y, x] = Pr(report y | value x), columns summing to one.

A channel multiplies (``matvec``: theta -> A theta), transposes (``rmatvec``: r -> A' r), and knows its unbiased inverse
(``invert``) and that inverse's variance. It does not know how it is solved; estimators do. Names follow SciPy's
LinearOperator. Rows are in the order in which a tally's counts are laid out.

The pure family (METHODS 1) has rows const * (1 + (e^eps - 1) b): a value is supported by a report or not. With
p = Pr(support | same value), q = Pr(support | other value) and S_x the share of reports that support x, the unbiased
estimate is (S_x - q) / (p - q), and one report contributes variance mu (1 - mu) / (p - q)^2, mu = q + (p - q) theta_x.
"""

from __future__ import annotations

from warner.channels.bands import BandChannel, windows, windows_at
from warner.channels.base import LARGEST_DENSE, Channel
from warner.channels.dense import DenseChannel
from warner.channels.geometric import GeometricChannel
from warner.channels.hashed import HashChannel
from warner.channels.key_value import DilutedChannel, TiedChannel
from warner.channels.khatri_rao import KhatriRaoChannel
from warner.channels.kronecker import KroneckerChannel
from warner.channels.marginal import SummedChannel, lifted, marginal, summed
from warner.channels.merged import MergedChannel
from warner.channels.planar import PlanarChannel
from warner.channels.pure import DirectChannel, HadamardChannel, SupportChannel, walsh
from warner.channels.randomized_rounding import SpreadChannel, rounded, rounded_at, spread_over
from warner.channels.repeated import RepeatedRows
from warner.channels.stack import StackChannel, groups_of
from warner.channels.support_reports import SupportRows

__all__ = [
    "LARGEST_DENSE",
    "BandChannel",
    "Channel",
    "DenseChannel",
    "DilutedChannel",
    "DirectChannel",
    "GeometricChannel",
    "HadamardChannel",
    "HashChannel",
    "KhatriRaoChannel",
    "KroneckerChannel",
    "MergedChannel",
    "PlanarChannel",
    "RepeatedRows",
    "SpreadChannel",
    "StackChannel",
    "groups_of",
    "SummedChannel",
    "SupportChannel",
    "SupportRows",
    "TiedChannel",
    "lifted",
    "marginal",
    "rounded",
    "rounded_at",
    "spread_over",
    "summed",
    "walsh",
    "windows",
    "windows_at",
]
