"""No answer of a file reaches a study or a message of ``warner new``, unless it is told to copy."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from warner.app.cli import main

# Each column has usual answers and an unusual one, which stands in no other place.
COLUMNS: dict[str, tuple[str, str]] = {
    "smokes": ("never", "CANARYone"),
    "units": ("3", "918273"),
    "weight": ("61.5", "918273.25"),
    "born": ("1980-05-01", "1918-02-27"),
    "home": ("3,4", "91827,3"),
    "truth": ("true", "CANARYtwo"),
    "free": ("some text", "CANARY = [three]\\u0007"),
    "ward": ("north", "CANARYfour"),
    "month": ("7", "918274"),
    "mixed": ("12", "12.918273"),
    "empty": ("", "CANARYfive"),
    "late": ("2024-05-31", "CANARYsix"),
    "huge": ("1e9", "1e918"),
    "control": ("yes", "CANARY\x1b[2J"),
}
SECRET = "smokes,units,weight,born,home,truth,free,mixed,empty,huge,control"
PUBLIC = "ward,month,late"
LEAK = re.compile("CANARY|9182|1918-02|91827")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for delimiter, name in ((",", "a.csv"), (";", "b.csv")):
        rows = [[f'"{c[0]}"' for c in COLUMNS.values()]] * 40
        rows.insert(7, [f'"{c[1]}"' for c in COLUMNS.values()])
        lines = [delimiter.join(COLUMNS), *(delimiter.join(row) for row in rows)]
        Path(name).write_text("\n".join(lines) + "\n")
    Path("no_names.csv").write_text("CANARYone,918273\nnever,3\n")
    Path("torn.csv").write_text('smokes,units\nnever,"CANARY\nCANARYone\n')
    Path("wide.csv").write_text("smokes,units\nnever,3\nCANARYone,3,CANARYtwo\n")
    Path("latin.csv").write_bytes("smokes,units\nCANARY\xe9,918273\n".encode("latin-1"))
    Path("zip.csv").write_bytes(b"PK\x03\x04CANARY\x00\n")
    Path("none.csv").write_text("")
    Path("bad.parquet").write_bytes(b"PAR1CANARY")
    columns = {name: [usual] * 40 + [odd] for name, (usual, odd) in COLUMNS.items()}
    table = pa.table(columns | {"units": [3] * 40 + [918273], "mixed": [1.5] * 40 + [918.2]})
    pq.write_table(table, "a.parquet")
    return tmp_path


def outputs(*args: str, text: str = "") -> str:
    """All that a run shows and writes."""
    result = CliRunner().invoke(main, ["new", *args], input=text)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    study = Path("study.toml")
    written = study.read_text() if study.exists() else ""
    study.unlink(missing_ok=True)
    return f"{result.stdout}\n{result.stderr}\n{written}"


FILES = ("a.csv", "b.csv", "a.parquet")
BROKEN = ("no_names.csv", "torn.csv", "wide.csv", "latin.csv", "zip.csv", "none.csv", "bad.parquet")


@pytest.mark.parametrize("file", (*FILES, *BROKEN, "absent.csv"))
def test_no_answer_reaches_the_study_or_a_message(here: Path, file: str) -> None:
    asked = ("--secret", SECRET, "--public", PUBLIC)
    few = ("--secret", "smokes", "--public", "units")
    cases = [
        (file, *asked),
        (file, *asked, "-o", "study.toml", "--range", "units=0:60", "--values", "smokes=a,b"),
        (file, *few, "-o", "study.toml"),
        (file, *few, "--ask", "-o", "study.toml"),
        (file, *few, "--rounded"),
        (file, "--secret", "Smokes"),
        (file, "--secret", "smokes", "--copy", "nothing"),
        (file, "--ask"),
    ]
    shown = [outputs(*case, text="\n" * 30) for case in cases]
    assert all(text.strip() for text in shown)
    assert ("Next: warner audit" in shown[1] or "[attributes.smokes]" in shown[1]) is (
        file in FILES
    )
    for case, text in zip(cases, shown, strict=True):
        assert not LEAK.search(text), (case, LEAK.findall(text))


def test_the_canaries_are_there_to_be_copied(here: Path) -> None:
    """The test above could find a leak."""
    text = outputs("a.csv", "--secret", "smokes,units", "--values-from-data", "-o", "study.toml")
    assert "CANARYone" in text and "918273" in text


@pytest.mark.parametrize("column", COLUMNS)
def test_messages_quote_no_answer_where_copies_are_told_but_refused(
    here: Path, column: str
) -> None:
    """What is copied stands in the study, which the user asked for, and in no message."""
    for file in FILES:
        for more in (("--copy", column), ("--copy", column, "--rounded")):
            result = CliRunner().invoke(main, ["new", file, "--secret", column, *more])
            assert result.exception is None or isinstance(result.exception, SystemExit)
            assert not LEAK.search(result.stderr), (file, result.stderr)


@pytest.mark.parametrize("column", COLUMNS)
def test_one_answer_does_not_change_what_is_said(here: Path, column: str) -> None:
    """The study is the same with and without the unusual answer of one person."""
    usual, odd = COLUMNS[column]
    shown = []
    for rows in ([usual] * 40, [*[usual] * 39, odd], [*[usual] * 39, ""]):
        Path("one.csv").write_text("\n".join([column, *(f'"{row}"' for row in rows)]) + "\n")
        shown.append(outputs("one.csv", "--secret", column))
    assert (shown[0] == shown[1] == shown[2]) or column == "empty"
