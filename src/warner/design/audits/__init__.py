"""Audits: exact epsilons from integer laws and serialised reports, claims, bounds from samples."""

from warner.design.audits.auditing import audit
from warner.design.audits.result import Audit

__all__ = ["Audit", "audit"]
