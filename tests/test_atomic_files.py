"""Files are there whole or not at all, and what a killed process leaves is removed."""

import errno
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from equipoise.atomic_files import TemporaryFolder, new_file, remove_leftovers

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


FOLDER_AND_WAIT = """
import sys
from equipoise.atomic_files import TemporaryFolder
folder = TemporaryFolder("bins")
(folder.path / "rows").write_text("of people")
print(folder.path.name, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """The temporary folder of the system, here and in processes that are started."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.mark.processes
def test_temporary_folders_of_killed_processes_are_removed_by_the_next(temporary):
    command = [sys.executable, "-c", FOLDER_AND_WAIT]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as process:
        name = process.stdout.readline().strip()
        with TemporaryFolder("bins"):
            assert (temporary / name / "rows").exists()  # its process lives
        process.kill()
        process.wait()
    assert names(temporary) == [name]
    with TemporaryFolder("answers") as folder:
        assert names(temporary) == [folder.name]
    assert names(temporary) == []


def test_a_temporary_folder_goes_with_its_object_unless_it_is_kept(temporary):
    folder = TemporaryFolder("answers")
    path = folder.path
    del folder
    assert not path.exists()
    folder = TemporaryFolder("answers")
    (folder.path / "answer").touch()
    folder.keep()
    path = folder.path
    del folder
    TemporaryFolder("bins").remove()
    assert names(path) == ["answer"]


def test_folders_of_others_are_left_alone(temporary, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "in-use.lock").touch()
    (temporary / "equipoise-link").symlink_to(elsewhere)
    (temporary / "equipoise-of-somebody").mkdir()
    TemporaryFolder("bins").remove()
    assert names(temporary) == ["equipoise-link", "equipoise-of-somebody"]
    assert names(elsewhere) == ["in-use.lock"]
