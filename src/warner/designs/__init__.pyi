from .chances import Draw as Draw, chance as chance, draw_with as draw_with
from .latent_classes import (
    ClassShares as ClassShares,
    EstimatedShare as EstimatedShare,
    GroupLaw as GroupLaw,
    LatentClasses as LatentClasses,
    SaidInGroups as SaidInGroups,
    ShareOf as ShareOf,
)
from .list_experiment import (
    DesignEffect as DesignEffect,
    ListExperiment as ListExperiment,
    ListShares as ListShares,
)
from .one_group import (
    Crosswise as Crosswise,
    ForcedResponse as ForcedResponse,
    Kuk as Kuk,
    Mangat as Mangat,
    Triangular as Triangular,
    Unrelated as Unrelated,
    Warner as Warner,
)
from .paper import Card as Card, PaperDesign as PaperDesign
from .texts import from_text as from_text
from .two_groups import (
    Cheating as Cheating,
    ExtendedCrosswise as ExtendedCrosswise,
    StochasticLieDetector as StochasticLieDetector,
    SymmetricCheating as SymmetricCheating,
    UnrelatedUnknown as UnrelatedUnknown,
    groups_from_text as groups_from_text,
)
