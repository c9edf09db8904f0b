"""Decisions before and around a survey: theory, plans, audits, comparisons."""

from warner._core.names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
