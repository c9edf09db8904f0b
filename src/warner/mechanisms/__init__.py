"""Mechanisms: local randomisers, listed here by name.

A file declares one family: schema, law, sampler and channel. What every mechanism does with them
stands in :mod:`warner.mechanisms.base`.
"""

from warner._core.names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
