"""Files and frames: answers in, reports in and out, and reports counted where they are stored."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
