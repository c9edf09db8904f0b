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

from warner._core.names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
