"""Privacy guarantees, and the exact distributions of reports from which they are computed."""

from __future__ import annotations

from warner.privacy import postprocessing
from warner.privacy.guarantees import LDP, OSLDP, ULDP, ApproximateLDP, MetricLDP, compose

__all__ = ["LDP", "OSLDP", "ULDP", "ApproximateLDP", "MetricLDP", "compose", "postprocessing"]
