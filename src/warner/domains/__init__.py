"""Domains: the possible answers to a question, and their indices 0..K-1 that mechanisms work on.

A domain refuses an answer that is not in it. The error message states the position and the type of
the answer, never the answer itself.
"""

from warner._core.names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
