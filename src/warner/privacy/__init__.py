"""What is guaranteed, and the exact laws of reports that guarantees are computed from."""

from __future__ import annotations

from warner.privacy import postprocessing
from warner.privacy.guarantees import LDP, OSLDP, ULDP, ApproximateLDP, MetricLDP, compose

__all__ = ["LDP", "OSLDP", "ULDP", "ApproximateLDP", "MetricLDP", "compose", "postprocessing"]
