import warner._core.progress

from .from_tally import plausibility as plausibility
from .graphical_model import GraphicalModel as GraphicalModel
from .trend import trend as trend
from .wald_tests import goodness_of_fit as goodness_of_fit, independence as independence

progress = warner._core.progress.progress
