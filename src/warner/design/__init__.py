"""Decisions before and around a survey: theory, plans, audits, comparisons."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
