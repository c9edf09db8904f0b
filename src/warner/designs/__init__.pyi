from .chances import Draw as Draw, chance as chance, draw_with as draw_with
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
