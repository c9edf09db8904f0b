from .comparison import compare as compare
from .schemes import clusters as clusters, compare_schemes as compare_schemes
