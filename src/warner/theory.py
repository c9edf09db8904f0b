"""Expected errors in closed form, before anyone is asked: see :mod:`warner.design.theory`."""

from __future__ import annotations

from warner.design.theory import (
    expected_loss,
    inversion_squares,
    minimax_rate,
    worst_case_loss,
)

__all__ = ["expected_loss", "inversion_squares", "minimax_rate", "worst_case_loss"]
