"""Files are whole or not there, whenever the writing is stopped."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from warner._core import atomic_files
from warner._core.atomic_files import (
    recorded,
    remove_unfinished,
    temporary_file,
    whole_file,
    write_whole,
)
from warner._core.errors import FileError


def test_an_interruption_keeps_the_old_file_and_leaves_no_other(tmp_path: Path) -> None:
    write_whole(tmp_path / "old.json", b"old")
    for name in ("old.json", "new.json"):
        with recorded() as written, pytest.raises(KeyboardInterrupt):
            write_whole(tmp_path / "first.json", b"first")
            with whole_file(tmp_path / name) as temporary:
                Path(temporary).write_bytes(b"half")
                raise KeyboardInterrupt
        assert written.whole == [str(tmp_path / "first.json")]
        assert written.stopped == [str(tmp_path / name)]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["first.json", "old.json"]
    assert (tmp_path / "old.json").read_bytes() == b"old"


@pytest.mark.parametrize("function", ["open", "close", "chmod", "fsync", "replace", "link"])
def test_no_step_of_writing_leaves_a_temporary_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    """Ctrl-C right after any of the calls. Rejects a name that is known only once the file exists."""
    usual = getattr(os, function)

    def interrupted(*args: object, **options: object) -> object:
        usual(*args, **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(atomic_files.os, function, interrupted)
    with recorded() as written, pytest.raises(KeyboardInterrupt):
        write_whole(tmp_path / "a.json", b"whole", replace=function != "link")
    monkeypatch.undo()
    left = [path.name for path in tmp_path.iterdir()]
    assert left == (["a.json"] if function in ("replace", "link") else [])
    assert len(written.whole) == len(left)


def test_a_file_that_is_left_is_removed_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second Ctrl-C while the first one removes the file."""

    def again(path: Path, missing_ok: bool) -> None:
        raise KeyboardInterrupt

    patched = monkeypatch.context()
    with pytest.raises(KeyboardInterrupt), patched as patch, temporary_file(tmp_path):
        patch.setattr(Path, "unlink", again)
        raise KeyboardInterrupt
    assert len(list(tmp_path.iterdir())) == 1
    remove_unfinished()
    assert list(tmp_path.iterdir()) == []


def test_temporary_files_are_private(tmp_path: Path) -> None:
    with temporary_file(tmp_path, ".csv") as path:
        assert Path(path).stat().st_mode & 0o777 == 0o600 and path.endswith(".csv")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system does not fork")
def test_a_forked_process_leaves_the_files_of_its_parent(tmp_path: Path) -> None:
    """The end of a worker removed the file that its parent was still writing."""
    with whole_file(tmp_path / "new.json") as temporary:
        Path(temporary).write_bytes(b"whole")
        child = os.fork()
        if not child:
            remove_unfinished()
            os._exit(0)
        os.waitpid(child, 0)
    assert (tmp_path / "new.json").read_bytes() == b"whole"


@pytest.mark.parametrize("links", [True, False])
def test_of_two_who_write_a_file_that_is_made_once_the_first_one_wins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    """Rejects a program that looks whether the file is there, and replaces it later."""
    if not links:
        monkeypatch.setattr(os, "link", lambda a, b: (_ for _ in ()).throw(PermissionError()))
    path = tmp_path / "r.csv"
    with (
        pytest.raises(FileError, match=r"is there already.*Choose another name"),
        whole_file(path, replace=False) as temporary,
    ):
        Path(temporary).write_bytes(b"second")
        write_whole(path, b"first", replace=False)
    with pytest.raises(FileError, match="is there already"):
        write_whole(path, b"third", replace=False)
    assert [p.name for p in tmp_path.iterdir()] == ["r.csv"] and path.read_bytes() == b"first"
