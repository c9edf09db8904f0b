"""The populations that experiments of several papers ask.

Each reads a data set, or makes one of the same shape and difficulty where there is no folder. Made
data are the same in every run.
"""

from __future__ import annotations

import numpy as np

from warner.experiments.data_sets import DataFolder

_AGE_BIN, _AGE_BINS = 20, 5  # [P5 sec 4.3]: bins of 20 years


def adult_codes(data: DataFolder) -> dict[str, tuple[int, np.ndarray]]:
    """The categorical columns of Adult as codes, age in five bins of 20 years.

    Returns:
        {column: (number of values, codes (32561,))}, values in alphabetical order. Without a folder
        the columns that the package ships.
    """
    table = data.table("adult.csv.gz")
    assert table is not None
    codes = {}
    for name, texts in table.items():
        if name == "age":
            ages = np.array(texts, dtype=np.int64) // _AGE_BIN
            codes[name] = (_AGE_BINS, np.minimum(ages, _AGE_BINS - 1))
        elif name not in _NUMBERS_OF_ADULT:
            values, index = np.unique(texts, return_inverse=True)
            codes[name] = (values.size, index)
    return codes


_NUMBERS_OF_ADULT = {
    "fnlwgt",
    "education_num",
    "capital_gain",
    "capital_loss",
    "hours_per_week",
}
