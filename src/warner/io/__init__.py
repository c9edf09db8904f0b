"""Files and frames: answers in, reports in and out, and reports counted where they are stored."""

from warner._core.names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
