import warner._core.progress

from .differences import goodness_of_fit as goodness_of_fit, independence as independence
from .from_tally import plausibility as plausibility
from .graphical_model import GraphicalModel as GraphicalModel
from .trend import trend as trend

progress = warner._core.progress.progress
