"""The Java archives for S3: pinned, fetched once, and compared."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from engine.errors import JarsError, MissingJarsError
from engine.spark.jvm import s3_jars as module
from engine.spark.jvm.s3_jars import fetch_s3_jars, has_s3_jars, s3_folder, s3_jars
from engine.spark.jvm.start import folders_of_jars

CONTENT = {"org.one:first:1.0": b"first", "org.two:second:2.1": b"second"}


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two archives, and those pinned."""
    folder = tmp_path / "mirror"
    folder.mkdir()
    (folder / "first-1.0.jar").write_bytes(b"first")
    (folder / "second-2.1.jar").write_bytes(b"second")
    pins = {name: hashlib.sha256(content).hexdigest() for name, content in CONTENT.items()}
    monkeypatch.setattr(module, "_PINNED", pins)
    return folder


def test_the_pinned_archives_are_named_by_group_name_and_version() -> None:
    pins = json.loads(Path(module.__file__).with_suffix(".json").read_text())

    assert all(len(name.split(":")) == 3 and len(digest) == 64 for name, digest in pins.items())
    assert "org.apache.hadoop:hadoop-aws:3.5.0" in pins
    assert not any("bundle" in name for name in pins)


def test_archives_are_copied_from_a_folder(mirror: Path, tmp_path: Path) -> None:
    env = {"ARROYO_CACHE": str(tmp_path / "cache")}
    with pytest.raises(MissingJarsError) as refused:
        s3_jars(env)
    assert "arroyo jars" in (refused.value.hint or "")

    folder = fetch_s3_jars(env, tmp_path, source=mirror)

    assert folder == s3_folder(env)
    assert [path.read_bytes() for path in s3_jars(env)] == [b"first", b"second"]


def test_an_archive_that_differs_is_refused_and_nothing_is_left(mirror: Path, tmp_path: Path) -> None:
    env = {"ARROYO_CACHE": str(tmp_path / "cache")}
    (mirror / "second-2.1.jar").write_bytes(b"another")

    with pytest.raises(JarsError, match=r"second-2\.1\.jar is not the archive"):
        fetch_s3_jars(env, tmp_path, source=mirror)

    assert not has_s3_jars(env)
    assert [path.name for path in (tmp_path / "cache" / "jars").iterdir()] == [f"{s3_folder(env).name}.lock"]


def test_a_folder_that_lacks_one_is_named(mirror: Path, tmp_path: Path) -> None:
    (mirror / "second-2.1.jar").unlink()

    with pytest.raises(JarsError, match=r"second-2\.1\.jar cannot be read: No such file"):
        fetch_s3_jars({"ARROYO_CACHE": str(tmp_path / "cache")}, tmp_path, source=mirror)


def test_another_set_has_another_folder(mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    env = {"ARROYO_CACHE": str(tmp_path)}
    first = s3_folder(env)

    monkeypatch.setattr(module, "_PINNED", {"org.one:first:1.1": "0" * 64})

    assert s3_folder(env) != first


def test_a_jvm_has_them_once_they_are_installed(mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARROYO_CACHE", str(tmp_path / "cache"))
    assert folders_of_jars(Path("/spark")) == (Path("/spark/jars"),)

    folder = fetch_s3_jars({"ARROYO_CACHE": str(tmp_path / "cache")}, tmp_path, source=mirror)

    assert folders_of_jars(Path("/spark")) == (Path("/spark/jars"), folder)
