from .additive_noise import (
    Geometric as Geometric,
    Laplace as Laplace,
    TruncatedGeometric as TruncatedGeometric,
)
from .base import Mechanism as Mechanism
from .bit_vectors import SubsetSelection as SubsetSelection, UnaryEncoding as UnaryEncoding
from .composite import PerAttribute as PerAttribute, Repeated as Repeated
from .covers import cover_of_pairs as cover_of_pairs
from .direct import MatrixMechanism as MatrixMechanism, RandomizedResponse as RandomizedResponse
from .exponential import Exponential as Exponential
from .gaussian import Gaussian as Gaussian
from .geometry import (
    HadamardResponse as HadamardResponse,
    ProjectiveGeometryResponse as ProjectiveGeometryResponse,
)
from .headers import MECHANISMS as MECHANISMS, from_header as from_header
from .hidden_question import HiddenQuestion as HiddenQuestion, WithFakes as WithFakes
from .key_value import KeyValue as KeyValue
from .local_hashing import LocalHashing as LocalHashing
from .numeric import (
    Piecewise as Piecewise,
    SquareWave as SquareWave,
    StochasticRounding as StochasticRounding,
    WithNonresponse as WithNonresponse,
    with_nonresponse as with_nonresponse,
)
from .one_of import OneOf as OneOf
from .optimal import Certificate as Certificate, Optimal as Optimal
from .permanent import MemoDevice as MemoDevice, Permanent as Permanent
from .personalized import Device as Device, PersonalizedULDP as PersonalizedULDP
from .planar import PlanarGeometric as PlanarGeometric, PlanarLaplace as PlanarLaplace
from .utility_optimized import (
    UtilityOptimizedRappor as UtilityOptimizedRappor,
    UtilityOptimizedRR as UtilityOptimizedRR,
    UtilityOptimizedSubset as UtilityOptimizedSubset,
)
