from .bands import (
    BandChannel as BandChannel,
    GeometricChannel as GeometricChannel,
    SpreadChannel as SpreadChannel,
    rounded as rounded,
    rounded_at as rounded_at,
    spread_over as spread_over,
    windows as windows,
    windows_at as windows_at,
)
from .base import (
    LARGEST_DENSE as LARGEST_DENSE,
    BlockMoments as BlockMoments,
    Channel as Channel,
    ColumnProducts as ColumnProducts,
    CompositeChannel as CompositeChannel,
    DenseChannel as DenseChannel,
    DenseCompositeChannel as DenseCompositeChannel,
    FloatArray as FloatArray,
    HashPool as HashPool,
    IndependentParts as IndependentParts,
    IntArray as IntArray,
    LikelihoodOperator as LikelihoodOperator,
    MatrixRows as MatrixRows,
    NearlyConstantRows as NearlyConstantRows,
    SupportLaw as SupportLaw,
    lifted as lifted,
    observed_rows as observed_rows,
    quick as quick,
    summed as summed,
    weighted_counts as weighted_counts,
)
from .derived import (
    HiddenAmongChannel as HiddenAmongChannel,
    HiddenAmongRows as HiddenAmongRows,
    LiftedChannel as LiftedChannel,
    MergedChannel as MergedChannel,
    SomeValues as SomeValues,
    SummedChannel as SummedChannel,
    on_cells as on_cells,
)
from .geometry import (
    HadamardChannel as HadamardChannel,
    ProjectiveBlocksChannel as ProjectiveBlocksChannel,
    ProjectiveChannel as ProjectiveChannel,
    hyperplane_sums as hyperplane_sums,
    walsh as walsh,
)
from .hashed import (
    HashChannel as HashChannel,
    HashedReports as HashedReports,
    HashedRows as HashedRows,
    HashSupportChannel as HashSupportChannel,
    WindowChannel as WindowChannel,
)
from .key_value import (
    DilutedChannel as DilutedChannel,
    NonresponseChannel as NonresponseChannel,
    TiedChannel as TiedChannel,
    keyed_groups as keyed_groups,
)
from .planar import PlacedChannel as PlacedChannel, PlanarChannel as PlanarChannel
from .stack import StackChannel as StackChannel, StackedRows as StackedRows, stacked as stacked
from .support import (
    DirectChannel as DirectChannel,
    SliceChannel as SliceChannel,
    SupportChannel as SupportChannel,
    SupportRows as SupportRows,
)
from .tuples import (
    KhatriRaoChannel as KhatriRaoChannel,
    KroneckerChannel as KroneckerChannel,
    RepeatedRows as RepeatedRows,
)
