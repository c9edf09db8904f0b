"""Channels: the likelihood of reports as a linear operator A[y, x] = Pr(report y | value x).

Three concepts stand apart. A :class:`LikelihoodOperator` has rows A (m, K), perhaps those of the
observed reports alone. A :class:`Channel` has a row for every possible report, so columns sum to
one, and its tallies can be simulated. A :class:`CompositeChannel` has parts of reports for rows,
such as single bits.

An operator multiplies (``matvec``: theta -> A theta), transposes (``rmatvec``: r -> A' r) and has
an unbiased inverse (``invert``) with a known variance. It does not maximise the likelihood;
estimators do. Names follow SciPy's LinearOperator. Rows are in the order of a tally's counts.

In the pure family (METHODS 1) a report supports a value or not, and rows are
const * (1 + (e^eps - 1) b). Let p = Pr(support | same value), q = Pr(support | other value) and
S_x the share of the reports that support x. The unbiased estimate is (S_x - q) / (p - q). One
report contributes the variance mu (1 - mu) / (p - q)^2, mu = q + (p - q) theta_x.
"""

from __future__ import annotations

from warner.channels.bands import (
    BandChannel,
    GeometricChannel,
    SpreadChannel,
    rounded,
    rounded_at,
    spread_over,
    windows,
    windows_at,
)
from warner.channels.base import (
    LARGEST_DENSE,
    BlockMoments,
    Channel,
    CompositeChannel,
    DenseChannel,
    DenseCompositeChannel,
    FloatArray,
    HashPool,
    IntArray,
    LikelihoodOperator,
    MatrixRows,
    NearlyConstantRows,
    SupportLaw,
    kron,
    lifted,
    quick,
    summed,
)
from warner.channels.derived import MergedChannel, SomeValues, SummedChannel, on_cells
from warner.channels.geometry import (
    HadamardChannel,
    ProjectiveBlocksChannel,
    ProjectiveChannel,
    hyperplane_sums,
    walsh,
)
from warner.channels.hashed import (
    HashChannel,
    HashedReports,
    HashedRows,
    HashSupportChannel,
    WindowChannel,
)
from warner.channels.key_value import DilutedChannel, NonresponseChannel, TiedChannel, keyed_groups
from warner.channels.planar import PlacedChannel, PlanarChannel
from warner.channels.stack import StackChannel, StackedRows, stacked
from warner.channels.support import DirectChannel, SupportChannel, SupportRows
from warner.channels.tuples import KhatriRaoChannel, KroneckerChannel, RepeatedRows

__all__ = [
    "LARGEST_DENSE",
    "BandChannel",
    "BlockMoments",
    "Channel",
    "CompositeChannel",
    "DenseChannel",
    "DenseCompositeChannel",
    "DilutedChannel",
    "DirectChannel",
    "FloatArray",
    "GeometricChannel",
    "HadamardChannel",
    "HashChannel",
    "HashPool",
    "HashSupportChannel",
    "HashedReports",
    "HashedRows",
    "IntArray",
    "KhatriRaoChannel",
    "KroneckerChannel",
    "LikelihoodOperator",
    "MatrixRows",
    "MergedChannel",
    "NearlyConstantRows",
    "PlacedChannel",
    "PlanarChannel",
    "ProjectiveBlocksChannel",
    "ProjectiveChannel",
    "RepeatedRows",
    "NonresponseChannel",
    "SomeValues",
    "SpreadChannel",
    "StackChannel",
    "StackedRows",
    "SummedChannel",
    "SupportChannel",
    "SupportLaw",
    "SupportRows",
    "TiedChannel",
    "WindowChannel",
    "hyperplane_sums",
    "keyed_groups",
    "kron",
    "lifted",
    "on_cells",
    "quick",
    "rounded",
    "rounded_at",
    "spread_over",
    "stacked",
    "summed",
    "walsh",
    "windows",
    "windows_at",
]
