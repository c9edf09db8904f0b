"""Estimates, and what is computed from them: intervals, summaries, tables and charts."""

from lazy_loader import attach_stub

from warner._core.progress import progress

__getattr__, __dir__, _names = attach_stub(__name__, __file__)
__all__ = [*_names, "progress"]
