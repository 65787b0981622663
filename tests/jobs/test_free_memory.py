"""What could be had, of a machine and of a container on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.jobs.processes.processes import free_memory, known_free_memory

GIB = 2**30


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    (tmp_path / "meminfo").write_text(f"MemTotal: 99 kB\nMemAvailable: {20 * GIB // 1024} kB\n")
    return tmp_path


def write(groups: Path, files: dict[str, object]) -> Path:
    for name, content in files.items():
        (groups / name).parent.mkdir(parents=True, exist_ok=True)
        (groups / name).write_text(f"{content}\n")
    return groups


def test_a_machine_says_what_it_has(proc: Path) -> None:
    assert free_memory(proc, proc / "none") == known_free_memory(proc, proc / "none") == 20 * GIB


@pytest.mark.parametrize(
    ("maximum", "free"), [(4 * GIB, 2 * GIB), ("max", 20 * GIB), (90 * GIB, 20 * GIB), (1 * GIB, 0)]
)
def test_a_container_has_no_more_than_it_may_hold(proc: Path, maximum: object, free: int) -> None:
    stat = f"anon 1\ninactive_file {GIB}"
    groups = write(proc / "g", {"memory.max": maximum, "memory.current": 3 * GIB, "memory.stat": stat})

    assert free_memory(proc, groups) == free


def test_a_container_of_cgroup_v1_limits_free_memory(proc: Path) -> None:
    stat = f"inactive_file 7\ntotal_inactive_file {GIB}"
    figures = {"limit_in_bytes": 4 * GIB, "usage_in_bytes": 2 * GIB, "stat": stat}
    groups = write(proc / "g", {f"memory/memory.{name}": content for name, content in figures.items()})

    assert free_memory(proc, groups) == 3 * GIB


def test_unreported_free_memory_is_zero_or_none(tmp_path: Path) -> None:
    assert free_memory(tmp_path, tmp_path) == 0
    assert known_free_memory(tmp_path, tmp_path) is None
