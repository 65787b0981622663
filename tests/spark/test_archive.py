"""The class archive must help later starts and never hurt one."""

from pathlib import Path

import pytest

from engine.spark.jvm.class_archive import Archive, cache_dir, find_archive
from engine.spark.jvm.java import Java

WHOLE = 0xF00BABA8.to_bytes(4, "little") + b"classes"
CUT_SHORT = bytes(4) + b"classes"


@pytest.fixture
def java(tmp_path: Path) -> Java:
    program = tmp_path / "jvm" / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.touch()
    return Java(program, 17)


@pytest.fixture
def jars(tmp_path: Path) -> Path:
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "spark.jar").write_bytes(b"1")
    return tmp_path / "jars"


def existing(archive: Archive | None) -> Archive:
    assert archive is not None
    return archive


def write_archive(archive: Archive | None, content: bytes) -> None:
    """A JVM wrote this much of its archive, and ended."""
    existing(archive).path.write_bytes(content)
    existing(archive).handed_over()


def test_the_first_start_makes_it_and_the_next_one_uses_it(java: Java, jars: Path, tmp_path: Path) -> None:
    first = find_archive(java, (jars,), tmp_path)
    assert f"-XX:ArchiveClassesAtExit={existing(first).path}" in existing(first).options()
    write_archive(first, WHOLE)

    second = existing(find_archive(java, (jars,), tmp_path))

    assert f"-XX:SharedArchiveFile={second.path}" in second.options()
    assert second.path.read_bytes() == WHOLE
    assert second.lock is None


def test_two_that_start_at_once_do_not_both_make_it(java: Java, jars: Path, tmp_path: Path) -> None:
    first = find_archive(java, (jars,), tmp_path)

    assert find_archive(java, (jars,), tmp_path) is None
    existing(first).handed_over()


def test_truncated_archive_is_created_again(java: Java, jars: Path, tmp_path: Path) -> None:
    write_archive(find_archive(java, (jars,), tmp_path), CUT_SHORT)

    again = existing(find_archive(java, (jars,), tmp_path))

    assert again.lock is not None
    assert not again.path.exists()
    again.handed_over()


def test_another_class_path_gets_its_own(java: Java, jars: Path, tmp_path: Path) -> None:
    write_archive(find_archive(java, (jars,), tmp_path), WHOLE)
    (jars / "more.jar").touch()

    second_archive = existing(find_archive(java, (jars,), tmp_path))

    assert second_archive.lock is not None
    second_archive.handed_over()


def test_a_cache_that_cannot_be_used_is_done_without(java: Java, jars: Path, tmp_path: Path) -> None:
    (tmp_path / "classes").touch()

    assert find_archive(java, (jars,), tmp_path) is None


def test_from_java_25_on_it_is_the_aot_cache(tmp_path: Path) -> None:
    assert f"-XX:AOTCache={tmp_path}" in Archive(tmp_path, 25).options()
    assert f"-XX:AOTCacheOutput={tmp_path}" in Archive(tmp_path, 25, lock=7).options()


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({"ARROYO_CACHE": "/a", "XDG_CACHE_HOME": "/b"}, "/a"),
        ({"XDG_CACHE_HOME": "/b"}, "/b/arroyo"),
        ({"HOME": "/home/me"}, "/home/me/.cache/arroyo"),
    ],
)
def test_the_cache_is_where_the_user_keeps_such_things(env: dict[str, str], expected: str) -> None:
    assert cache_dir(env) == Path(expected)
