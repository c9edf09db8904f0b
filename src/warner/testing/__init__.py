"""A battery of tests for mechanisms and estimators of your own. It needs no test runner.

Each check returns the list of the properties that hold, with figures, or raises
:class:`PropertyError` with all that do not hold, and by how far.

>>> from warner import Categorical, RandomizedResponse, testing
>>> coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
>>> testing.check_mechanism(coin, draws=20_000).rows()[0]
{'property': 'the law sums to one', 'holds': True, 'finding': 'exactly, for 2 values and 2 reports'}
"""

from warner.testing.estimators import check_estimator
from warner.testing.mechanisms import Checked, PropertyError, check_mechanism

__all__ = ["Checked", "PropertyError", "check_estimator", "check_mechanism"]
