"""Sealed submissions: their bytes, and what is refused by position."""

from __future__ import annotations

import numpy as np
import pytest

from tests.refusals import refused
from warner import errors
from warner.collector.refusals import NAMES, Refused
from warner.collector.submissions import HEAD_BYTES, ID_BYTES, MOST, SubmissionFormat, new_ids
from warner.studies.study import Study

TEXT = """
[public.ward]
values = ["north", "south"]
[public.visit]
dates = "week"
[attributes.smokes]
values = ["never", "sometimes", "often"]
mechanism = "RandomizedResponse"
epsilon = 1.0
[attributes.age]
integers = [18, 99]
mechanism = "UnaryEncoding"
epsilon = 1.0
[attributes.town]
integers = [0, 999]
mechanism = "LocalHashing"
epsilon = 1.0
"""
STUDY = Study.parse(TEXT)
FORM = SubmissionFormat(STUDY)
WARDS = ["south", "north", "south"]
WEEKS = ["2026-01-05", "2026-01-13", "2026-02-01"]


def reports(n: int = 3) -> dict[str, object]:
    answers = {"smokes": ["often"] * n, "age": [40] * n, "town": [7] * n}
    return {name: m.randomize(answers[name]) for name, m in STUDY.mechanisms.items()}


def body(**changes: object) -> bytes:
    given = {"reports": reports(), "public": {"ward": WARDS, "visit": WEEKS}, **changes}
    return FORM.seal(**given)  # type: ignore[arg-type]


def test_a_body_holds_ids_then_public_indices_then_reports() -> None:
    given, ids = reports(), new_ids(3)
    sealed = FORM.seal(given, {"ward": WARDS, "visit": WEEKS}, ids)  # type: ignore[arg-type]
    assert sealed[:4] == b"WRN1"
    assert sealed[4:36].hex() == STUDY.layout
    records = b"".join(
        ids[i].tobytes()
        + np.array([[1, 0, 1][i], STUDY.public["visit"].encode([WEEKS[i]])[0]], "<i4").tobytes()
        + b"".join(r.record_array()[i].tobytes() for r in given.values())  # type: ignore[attr-defined]
        for i in range(3)
    )
    assert sealed[36:] == records
    assert len(records) == 3 * FORM.length


def test_parsing_gives_what_was_sealed() -> None:
    given, ids = reports(), new_ids(3)
    batch = FORM.parse(FORM.seal(given, {"ward": WARDS, "visit": WEEKS}, ids))  # type: ignore[arg-type]
    assert len(batch) == 3
    assert batch.reports == given
    np.testing.assert_array_equal(batch.ids, ids)
    assert STUDY.public["ward"].decode(batch.public["ward"]) == WARDS
    np.testing.assert_array_equal(batch.public["visit"], STUDY.public["visit"].encode(WEEKS))
    assert "3" in repr(batch)
    assert batch.take(np.array([False, True, False])).reports["age"] == given["age"][1:2]  # type: ignore[index]


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("byte", [0, 4, 8, 19])
def test_the_first_wrong_submission_is_named_by_its_position(place: int, byte: int) -> None:
    # Bytes after the id: the ward, the week, the report on smoking, the last padding of 82 bits.
    rows = np.frombuffer(body(), np.uint8)[HEAD_BYTES:].reshape(3, FORM.length).copy()
    rows[place:, ID_BYTES + byte + 3 * (byte < 8)] |= 255
    with pytest.raises(Refused) as refused:
        FORM.parse(body()[:HEAD_BYTES] + rows.tobytes())
    assert refused.value.name == "malformed"
    assert refused.value.position == place
    assert f"number {place} of 3" in str(refused.value)
    assert "255" not in str(refused.value)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (lambda b: b"", "malformed"),
        (lambda b: b[:20], "malformed"),
        (lambda b: b"WRN2" + b[4:], "malformed"),
        (lambda b: b[:HEAD_BYTES], "malformed"),
        (lambda b: b[:-1], "malformed"),
        (lambda b: b + b"\0", "malformed"),
        (lambda b: b[:HEAD_BYTES] + b[-FORM.length :] * (MOST + 1), "malformed"),
        (lambda b: b[:5] + bytes([b[5] ^ 1]) + b[6:], "other_study"),
    ],
)
def test_other_bytes_are_refused_by_name(change: object, name: str) -> None:
    with pytest.raises(Refused) as refused:
        FORM.parse(change(body()))  # type: ignore[operator]
    assert refused.value.name == name
    assert refused.value.name in NAMES
    assert refused.value.position is None


def test_as_many_as_a_body_may_hold_are_taken() -> None:
    sealed = body()
    full = sealed[:HEAD_BYTES] + sealed[-FORM.length :] * MOST
    assert len(FORM.parse(full)) == MOST


def test_sealing_refuses_what_does_not_belong_together() -> None:
    with pytest.raises(errors.ArgumentError, match="attributes smokes, age, town"):
        body(reports={"smokes": reports()["smokes"]})
    refused(errors.ArgumentError, "beside ward, visit", body, public={})
    refused(errors.ArgumentError, "as many people", body, ids=new_ids(2))
    refused(errors.ValuesError, "", body, public={"ward": ["west"] * 3, "visit": WEEKS})
    refused(errors.MismatchError, "", body, reports={**reports(), "smokes": reports()["age"]})


@pytest.mark.parametrize(
    "more", ["rows_per_person = 2\n", '[[groups]]\nname = "a"\n[[groups]]\nname = "b"\n']
)
def test_studies_of_other_people_are_refused(more: str) -> None:
    plain = TEXT[TEXT.index("[attributes.smokes]") :]
    text = plain + more if "groups" in more else more + plain
    refused(errors.ArgumentError, "to be collected", SubmissionFormat, Study.parse(text))


def test_a_refusal_survives_pickling() -> None:
    import pickle

    error = pickle.loads(pickle.dumps(Refused("closed", "survey", "is closed", position=3)))
    assert (error.name, error.position, str(error)) == ("closed", 3, "survey: is closed.")
