"""Estimators: methods that turn reports into a distribution.

An estimator reads ``LikelihoodData`` (a channel and the frequencies of its rows). It never
imports a mechanism. To add one: write a class with ``_fit`` in a file here, list it below and in
``warner.results.recommend``, and add it to the registry of the tests.

``warner.estimators.literature`` holds published methods that are kept for comparison only.
"""

from warner._core.names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
