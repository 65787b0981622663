"""`make demo` begins with an empty folder, so that two at once would empty it under each other."""

from __future__ import annotations

import fcntl
import os
import subprocess
import threading
from pathlib import Path

import pytest

from airflow_provider_arroyo.responses import Checkpoint, Pipeline
from dags_examples import demo_kept, demo_story
from dags_examples.demo import main
from dags_examples.demo_folder import Folder


def test_two_demonstrations_at_once_do_not_take_the_folder_from_each_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "shown"
    folder.mkdir()
    (folder / "airflow.log").touch()
    (folder / "journal.jsonl").write_text("of the other")
    with (tmp_path / "shown.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert main([str(folder)]) == 1

    assert capsys.readouterr().err == f"another demonstration runs in {folder}: wait until it has ended\n"
    assert (folder / "journal.jsonl").read_text() == "of the other"


def test_a_folder_with_something_else_is_not_emptied(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "thesis.txt").write_text("all of it")

    assert main([str(tmp_path)]) == main([str(tmp_path / "thesis.txt")]) == 1

    assert "holds something else" in capsys.readouterr().err
    assert (tmp_path / "thesis.txt").read_text() == "all of it"


def test_an_interrupt_while_airflow_starts_leaves_nothing_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, ended = Folder(tmp_path / "shown"), list[object]()

    def interrupt(_: Folder) -> None:
        ended.clear()
        raise KeyboardInterrupt

    monkeypatch.setattr(demo_story, "_listen", threading.Event)
    monkeypatch.setattr(demo_story, "_run", lambda *_: True)
    monkeypatch.setattr(demo_story, "_summarize", lambda *_: 0)
    monkeypatch.setattr(demo_story, "keep_airflow", interrupt)
    monkeypatch.setattr(demo_story, "end_kept", ended.append)
    monkeypatch.setattr(demo_story.ControlPlane, "stop", lambda *_: ended.append("control plane"))

    assert demo_story.demonstrate(folder, keeps=True) == 130

    assert ended == [folder, "control plane"]


def test_a_kept_demo_ends_even_if_its_first_process_was_killed(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    first = subprocess.Popen(
        ["/bin/sh", "-c", "sleep 600 & echo $!; wait"],
        cwd=tmp_path, start_new_session=True, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert first.stdout is not None
    other = int(first.stdout.readline())
    folder.kept.write_text(str(first.pid))
    first.kill()
    first.wait()

    demo_kept.end_kept(folder)

    with pytest.raises(ProcessLookupError):
        os.kill(other, 0)
    first.stdout.close()


def test_a_number_that_has_come_again_is_left_alone(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    somebody = subprocess.Popen(["sleep", "600"], cwd="/", start_new_session=True)
    folder.kept.write_text(str(somebody.pid))

    demo_kept.end_kept(folder)

    assert somebody.poll() is None
    somebody.kill()
    somebody.wait()


def test_a_first_epoch_is_shown_without_a_rate() -> None:
    pipeline = Pipeline("pl_1", "numbers", "Running", 1)

    first = demo_story._line_of(pipeline, (Checkpoint(1),))
    second = demo_story._line_of(pipeline, (Checkpoint(2, rows_per_second=1234.5),))

    assert first == "numbers Running, parallelism 1, epoch 1, watermark not known, 0 late"
    assert ", epoch 2, 1,234 rows/s, " in second
