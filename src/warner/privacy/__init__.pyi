from . import postprocessing as postprocessing
from .guarantees import (
    LDP as LDP,
    OSLDP as OSLDP,
    ULDP as ULDP,
    ApproximateLDP as ApproximateLDP,
    MetricLDP as MetricLDP,
    compose as compose,
)
