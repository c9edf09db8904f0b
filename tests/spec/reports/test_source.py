"""A source of reports of one's own: one class, which a mechanism counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tests.refusals import refused
from warner import Categorical, RandomizedResponse
from warner.errors import ArgumentError, ArgumentTypeError, ReportError
from warner.reports.public_columns import group_people
from warner.reports.source import Batch, By

COIN = RandomizedResponse(Categorical(["no", "yes"]), 1.0)


@dataclass
class Lines:
    """Lines "ward,code" of a text, two at a time."""

    text: str
    n: int | None = None

    def histograms(self, by: By) -> None:
        return None

    def names(self, attribute: str) -> Sequence[str]:
        return ["code"]

    def batches(self, by: By) -> Iterator[Batch]:
        lines = [line.split(",") for line in self.text.split()]
        for start in range(0, len(lines), 2):
            wards, codes = zip(*lines[start : start + 2], strict=True)
            columns = {"report": np.array(codes, dtype=np.int64)}
            COIN.schema.check(columns)
            yield Batch(
                {"value": columns}, group_people({"ward": list(wards)}, len(wards)) if by else None
            )

    def locate(self, error: ReportError) -> Exception:
        codes = [line.split(",")[1] for line in self.text.split()]
        row = next(i for i, code in enumerate(codes, 1) if code not in ("0", "1"))
        return ReportError(f"lines: {error} The first such line is {row}.")


def test_a_mechanism_counts_a_source_by_its_public_columns() -> None:
    lines = Lines("north,0 south,1 north,1 south,1 north,0")
    assert COIN.tally(lines).counts.tolist() == [2, 3]
    groups = COIN.tally(lines, "ward")
    assert {key: tally.counts.tolist() for key, tally in groups.items()} == {
        ("north",): [2, 1],
        ("south",): [0, 2],
    }


def test_a_source_says_where_wrong_reports_stand() -> None:
    refused(ReportError, "The first such line is 3", COIN.tally, Lines("north,0 south,1 north,7"))


def test_what_only_frames_have_is_refused() -> None:
    lines = Lines("north,0 south,1")
    refused(ArgumentError, "column: must be left out", COIN.tally, lines, column="code")
    refused(ArgumentTypeError, "by: must be names", COIN.tally, lines, {"ward": ["north", "south"]})
    refused(ArgumentTypeError, r"Count them with mechanism\.tally", COIN.reports, lines)
