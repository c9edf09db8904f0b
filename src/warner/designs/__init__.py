"""Designs for paper: questions that people randomise themselves, with dice, coins or cards.

A design is a mechanism. Its reports are words, such as "same" and "different", which the card of
the design explains.
"""

from warner._core.names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
