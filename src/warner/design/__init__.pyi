from .comparison import compare as compare
from .proposal import propose as propose
from .schemes import clusters as clusters, compare_schemes as compare_schemes
