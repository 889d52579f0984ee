"""Files are there whole or not at all, and what a killed process leaves is removed."""

import errno
import subprocess
import sys
from pathlib import Path

import pytest

from equipoise.atomic_files import new_file, remove_leftovers

WRITE_AND_WAIT = """
import sys
from equipoise.atomic_files import new_file
with new_file(sys.argv[1], overwrite=True) as partial:
    partial.write_text("half")
    print("ready", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def writer(tmp_path):
    """A process in the middle of writing note.txt."""
    command = [sys.executable, "-c", WRITE_AND_WAIT, str(tmp_path / "note.txt")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as process:
        assert process.stdout.readline() == "ready\n"
        yield process
        process.kill()


def names(folder):
    return sorted(path.name for path in Path(folder).iterdir())


def write(path, text):
    with new_file(path, overwrite=True) as partial:
        partial.write_text(text)


def test_the_next_write_removes_what_a_killed_process_left(writer, tmp_path):
    writer.kill()
    writer.wait()
    (left,) = names(tmp_path)
    assert left.startswith(".note.txt.")
    assert left.endswith(".partial")
    write(tmp_path / "other.txt", "another target")
    assert left in names(tmp_path)
    write(tmp_path / "note.txt", "whole")
    assert names(tmp_path) == ["note.txt", "other.txt"]


def test_a_full_disk_is_an_error_with_the_name_of_the_file(tmp_path):
    with (
        pytest.raises(OSError, match=r"No space left on device: '.*note\.txt'"),
        new_file(tmp_path / "note.txt"),
    ):
        raise OSError(errno.ENOSPC, "No space left on device")  # as a write says it
    assert names(tmp_path) == []


def test_a_writer_that_lives_is_left_alone(writer, tmp_path):
    write(tmp_path / "note.txt", "first")
    remove_leftovers(tmp_path / "note.txt")
    assert len(names(tmp_path)) == 2
    writer.communicate()  # ends its block
    assert (tmp_path / "note.txt").read_text() == "half"
    assert names(tmp_path) == ["note.txt"]


def test_targets_with_similar_names_are_told_apart(tmp_path):
    others = [".note.txt.old.abcdefgh.partial", ".note.abcdefgh.partial", ".note.txt.partial"]
    for name in others:
        (tmp_path / name).touch()
    (tmp_path / ".note.txt.abcdefgh.partial").touch()
    (tmp_path / ".[n]ote.abcdefgh.partial").touch()
    write(tmp_path / "note.txt", "whole")
    write(tmp_path / "[n]ote", "whole")
    assert names(tmp_path) == sorted([*others, "note.txt", "[n]ote"])


def test_a_block_that_fails_changes_nothing(tmp_path):
    (tmp_path / "note.txt").write_text("old")
    with pytest.raises(TypeError):
        write(tmp_path / "note.txt", 5)
    assert (tmp_path / "note.txt").read_text() == "old"
    assert names(tmp_path) == ["note.txt"]


def test_a_name_that_is_taken_meanwhile_is_not_replaced(tmp_path):
    block = new_file(tmp_path / "a")
    block.__enter__().write_text("mine")
    (tmp_path / "a").write_text("theirs")
    with pytest.raises(FileExistsError, match="exists already"):
        block.__exit__(None, None, None)
    assert (tmp_path / "a").read_text() == "theirs"
    assert names(tmp_path) == ["a"]


def test_folders_are_refused(tmp_path):
    with pytest.raises(IsADirectoryError, match="is a folder"), new_file(tmp_path):
        pass
    with pytest.raises(FileNotFoundError, match="there is no folder"), new_file(tmp_path / "x/y"):
        pass
