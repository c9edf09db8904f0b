"""Estimates from reports about keys with values.

:class:`KeyMeans` is the published estimator of PCKV. :class:`PerKey` applies an estimator of
distributions to the values of every key.
"""

from __future__ import annotations

from warner.estimators.key_value.data import of_keys, of_values
from warner.estimators.key_value.key_means import KeyMeans
from warner.estimators.key_value.moments import Moments, key_moments
from warner.estimators.key_value.per_key import PerKey

__all__ = ["KeyMeans", "Moments", "PerKey", "key_moments", "of_keys", "of_values"]
