"""Labels and names in files of others are refused where they cannot be shown."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import warner
from warner import Categorical
from warner._core.text import unreadable
from warner.io import open_reports, write_reports
from warner.io.file_format import seal
from warner.reports.tally import Tally, canonical, dump_tallies, parse_tallies
from warner.reports.tally_kinds import Counted, Histogram


@pytest.mark.parametrize("bad", ["\x1b]0;x\x07", "\x00", "\u202e", "\ud800"], ids=ascii)
def test_a_foreign_header_or_file_with_such_a_name_is_refused_and_the_message_says_why(
    bad: str, tmp_path: Path
) -> None:
    mechanism = warner.RandomizedResponse(Categorical(["x", "y"]), 1.0)
    header = json.loads(canonical(mechanism.header))
    header["domain"]["values"] = ["x", f"y{bad}"]
    with pytest.raises(warner.errors.MismatchError, match="label 1: must not contain") as caught:
        warner.estimate(Tally(header, Counted.together(Histogram(), np.array([1, 2]), 3)))
    assert unreadable(str(caught.value)) is None
    # A tally file and a report file whose checksums fit.
    tally = mechanism.tally(mechanism.randomize(["x"]))
    assert parse_tallies(dump_tallies({"z": tally}).encode(), "file")
    entry, digest = (
        {f"z{bad}": tally.to_json()},
        __import__("hashlib").sha256(canonical({f"z{bad}": tally.to_json()}).encode()).hexdigest(),
    )
    forged = (
        json.dumps({"format": "warner-tally", "schema": 6, "attributes": entry, "sha256": digest})
        + "\n"
    )
    with pytest.raises(warner.errors.FileError, match="the name of a question contains the"):
        parse_tallies(forged.encode(), "file")
    with pytest.raises(warner.errors.ArgumentError, match="name of a question: must not contain"):
        dump_tallies({f"z{bad}": tally})
    path = str(tmp_path / "r.csv")
    write_reports({"zzz": mechanism.randomize(["x", "y"])}, path)
    text = Path(path).read_text().replace('"zzz"', json.dumps(f"z{bad}"), 1)
    Path(path).write_text(
        re.sub(r'"sha256":"[0-9a-f]{64}"(?!.*"sha256")', f'"sha256":"{"0" * 64}"', text, flags=re.S)
    )
    seal(path)
    with pytest.raises(warner.errors.FileError, match="the name of a question contains the"):
        open_reports(path)
    with pytest.raises(warner.errors.ArgumentError, match="name of a question: must not contain"):
        write_reports({f"z{bad}": mechanism.randomize(["x", "y"])}, str(tmp_path / "s.csv"))
