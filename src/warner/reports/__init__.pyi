from . import tally as tally
