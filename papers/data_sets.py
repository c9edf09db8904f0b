"""The real data of the experiments: which files, where they come from, and how they are read.

Their owners allow research and no more, so the files are not part of the package, apart from some
columns of Adult. The files lie in a folder that an option or the variable ``WARNER_DATA`` names.
Every file is CSV with one header line, compressed by gzip, and is checked against its SHA-256.
Without the folder an experiment uses made data of the same shape and says so.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files as resources
from pathlib import Path

import numpy as np

from warner._core.errors import FileError

_VARIABLE = "WARNER_DATA"
_ADULT = "adult.csv.gz"


@dataclass(frozen=True)
class DataSet:
    """A file of real data.

    Attributes:
        name: the file name.
        rows: the number of rows below the header line.
        sha256: of the compressed file.
        holds: the content of a row or of the columns.
        original: the owner, or the place of the original.
    """

    name: str
    rows: int
    sha256: str
    holds: str
    original: str


_SETS = [
    DataSet(
        "adult.csv.gz",
        32561,
        "a833df349bf96e939cb2de65a084d3a21cd64c4781a95551430453ac6892bb3b",
        "age, workclass, education, ... , income: one row for each person",
        "UCI Machine Learning Repository, Adult (B. Becker, R. Kohavi; CC BY 4.0)",
    ),
    DataSet(
        "chicago_salaries.csv.gz",
        31059,
        "b99ee14591080d8665da5e86206fff75a7a3213289b9de0839bed60435f4a7ff",
        "one row for each employee of Chicago, with department and salary",
        "City of Chicago, Current Employee Names, Salaries, and Position Titles",
    ),
    DataSet(
        "dpbench_2d_256x256_sparse.csv.gz",
        5815,
        "da97e72994a85996b5a8d759e970589a325e6448082393e9f9ca33051ef3cdbc",
        "counts in the non-empty cells of grids of 256 x 256, by name of the grid, row and column",
        "DPBench, M. Hay et al. 2016; check-ins of Gowalla, SNAP collection, Stanford",
    ),
    DataSet(
        "foursquare_manhattan_grid25x25.csv.gz",
        625,
        "507672d8f0adee27984e0464b092c643ef9da01369212e853399fe62807b4ea4",
        "counts of check-ins in 625 cells, row 0 in the south, some tagged as home or office",
        "Foursquare check-ins, D. Yang et al. (research use)",
    ),
    DataSet(
        "foursquare_tokyo_grid20x20.csv.gz",
        400,
        "de93767baef291bc127113b9e41cdbb22f429f000bae1ddd0db0eca6ca8dde1d",
        "counts of check-ins in 400 cells, row 0 in the south",
        "Foursquare check-ins TSMC2014, D. Yang et al. (research use)",
    ),
    DataSet(
        "gowalla_sf_grid24x16.csv.gz",
        384,
        "b705342ce163e9ad986b6a0dc0826e02cbc1634617d4a572f1f02b1a316287f2",
        "counts of check-ins in 384 cells of the north of San Francisco",
        "Gowalla check-ins, SNAP collection, Stanford (E. Cho, S. Myers, J. Leskovec 2011)",
    ),
    DataSet(
        "gss_cells400.csv.gz",
        400,
        "fa114754daf226c78fd11468f7b64350583d6e3760bd09f9cbab9a51274a6db2",
        "counts of people in 400 cells of age, income, marital status and sex, and unemployed",
        "General Social Survey 1974-2018, NORC at the University of Chicago",
    ),
    DataSet(
        "irs_soi_2013_zip.csv.gz",
        166740,
        "0bbb02ac4081b4b122803b0baf3dfe00fd751deb7989d7b8e999091d75c2610a",
        "one row for each ZIP code and size class: returns and total income",
        "IRS Statistics of Income, individual tax by ZIP code, 2013",
    ),
    DataSet(
        "mr_paper_histograms.csv.gz",
        534,
        "550405017dff81cfa108746876a5cbc40ac06c77348c72442a6e7f76ec5b82b3",
        "three histograms by name, bin and count",
        "the code of P3's authors",
    ),
    DataSet(
        "nltcs.csv.gz",
        21574,
        "bd8053b80d67eecaa882e928a69745e159d05f830bce7426284b7a048d709a35",
        "16 columns of 0 and 1, one row for each person",
        "National Long Term Care Survey",
    ),
    DataSet(
        "peopleflow_tokyo_grid32x32.csv.gz",
        1024,
        "3c6b9696d43208790345b3bebd22939eceec71344e78f503a5391cd186f84942",
        "counts of visits in 1,024 cells of central Tokyo, with homes, offices and hospitals",
        "SNS-based People Flow Data (Nightley Inc. with the University of Tokyo), PWSCup 2019",
    ),
    DataSet(
        "sf_totalpay_standardized.csv.gz",
        22468,
        "458b81357b5ac1ef5725639e1cd63160455dd1b146fa1eb6fa1aa9d4eec85a1a",
        "the total pay of employees of San Francisco, standardised",
        "San Francisco, Employee Compensation 2011-2014",
    ),
]
DATA_SETS = {each.name: each for each in _SETS}


@dataclass(frozen=True)
class DataFolder:
    """The folder with the files of :data:`DATA_SETS`.

    Attributes:
        path: the folder; None where there is none, so that made data stand in.
    """

    path: str | None = None

    @classmethod
    def from_environment(cls) -> DataFolder:
        """The folder that the variable ``WARNER_DATA`` names, if it is set."""
        return cls(os.environ.get(_VARIABLE) or None)

    @property
    def at_hand(self) -> bool:
        """Whether there is a folder of real data."""
        return self.path is not None

    def check(self, name: str) -> None:
        """Read a file and compare its SHA-256.

        Raises:
            FileError: the file is missing or altered; the message says which and what to do.
        """
        if self.path is not None:
            _checked(self.path, name)

    def made(self, name: str) -> bool:
        """Whether made data replace a file; never for Adult, which the package ships."""
        return self.path is None and name != _ADULT

    def digest(self, name: str) -> str:
        """The SHA-256 that a file must have; without a folder ``"made"`` or ``"shipped"``.

        ``"shipped"`` is Adult as it comes with the package.
        """
        if self.path is None:
            return "made" if self.made(name) else "shipped"
        return DATA_SETS[name].sha256

    def table(self, name: str) -> dict[str, list[str]] | None:
        """The columns of a file as texts; None without a folder.

        The columns of Adult that the package ships are there without a folder too.

        Raises:
            FileError: the file is missing or altered.
        """
        if self.path is not None:
            return _table(_checked(self.path, name))
        if name == _ADULT:
            return _table((resources("papers") / "data" / _ADULT).read_bytes())
        return None

    def columns(self, name: str, *wanted: str) -> dict[str, np.ndarray] | None:
        """Numeric columns of a file by name, all of them or those wanted; None without a folder.

        An empty cell is NaN.

        Raises:
            FileError: the file is missing or altered.
        """
        table = self.table(name)
        if table is None:
            return None
        return {key: _numbers(table[key]) for key in (wanted or table)}


def _checked(path: str, name: str) -> bytes:
    """The bytes of a file with the expected SHA-256."""
    known, place = DATA_SETS[name], Path(path) / name
    if not place.is_file():
        raise FileError(
            str(place),
            f"is missing: CSV compressed by gzip, {known.rows:,} rows, {known.holds}",
            None,
            f"Its original is: {known.original}. Without --data and {_VARIABLE}, made data "
            "of the same shape are used",
        )
    return _read(str(place), place.stat().st_mtime_ns, name)


@lru_cache(maxsize=32)
def _read(place: str, changed: int, name: str) -> bytes:
    """The bytes of a file, read and checked once for each time that it changes."""
    del changed
    content = Path(place).read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    if digest != DATA_SETS[name].sha256:
        raise FileError(
            place,
            f"must have the SHA-256 {DATA_SETS[name].sha256[:16]}...",
            f"{digest[:16]}...",
            "Replace it by the file that was checked, or name another folder",
        )
    return content


@lru_cache(maxsize=8)
def _table(content: bytes) -> dict[str, list[str]]:
    """The columns of a compressed CSV file."""
    rows = csv.reader(io.StringIO(gzip.decompress(content).decode()))
    header = next(rows)
    return {key: list(column) for key, column in zip(header, zip(*rows, strict=True), strict=True)}


def _numbers(texts: Iterable[str]) -> np.ndarray:
    return np.array([float(text) if text else np.nan for text in texts])
