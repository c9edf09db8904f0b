from .base import (
    LARGEST_SIZE as LARGEST_SIZE,
    NO_ANSWER as NO_ANSWER,
    Domain as Domain,
    Missing as Missing,
    Raster as Raster,
    StudyEntry as StudyEntry,
    TextForm as TextForm,
)
from .categorical import Categorical as Categorical
from .derived import (
    Optional as Optional,
    Padded as Padded,
    Subset as Subset,
    Tagged as Tagged,
    with_missing as with_missing,
)
from .grid import Grid as Grid, Points as Points
from .interval import Integers as Integers, Interval as Interval
from .items import Items as Items
from .kinds import domain_classes as domain_classes, from_spec as from_spec
from .product import Product as Product
from .words import Words as Words
