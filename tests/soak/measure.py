"""What a control plane and its drivers take of the machine, looked up in /proc and on the disk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from engine.jobs.processes import processes

_MIB = 1024 * 1024


def measure(server_pid: int, runs: Iterable[str], data_directory: Path) -> Mapping[tuple[str, str], float]:
    """Memory, open files and threads of the processes by what they are, all pipelines together, and bytes on disk.

    Memory is the share that is a process's own, so that what forked workers share is counted once.
    """
    figures: dict[tuple[str, str], float] = {}
    members = [("server", server_pid)]
    members += [(_role(pid), pid) for run in runs for pid in processes.marked(run)]
    for role, pid in members:
        with suppress(OSError):  # it has ended meanwhile
            for subject, figure in _of_process(role, Path("/proc") / str(pid)).items():
                figures[subject] = figures.get(subject, 0.0) + figure
    for kind, size in _on_disk(data_directory).items():
        figures[kind, "MiB"] = size / _MIB
    return figures


def _role(pid: int) -> str:
    try:
        command = (Path("/proc") / str(pid) / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return "workers"
    if command[0].endswith(b"java"):
        return "java"
    return "drivers" if b"engine.driver.main" in command else "workers"


def _of_process(role: str, entry: Path) -> Mapping[tuple[str, str], float]:
    shares = dict(line.split(":", 1) for line in (entry / "smaps_rollup").read_text().splitlines() if ":" in line)
    status = dict(line.split(":", 1) for line in (entry / "status").read_text().splitlines() if ":" in line)
    return {
        (f"{role}: memory", "MiB"): int(shares["Pss"].split()[0]) / 1024,
        (f"{role}: open files", "files"): sum(1 for _ in (entry / "fd").iterdir()),
        (f"{role}: threads", "threads"): int(status["Threads"]),
    }


def _on_disk(data_directory: Path) -> Counter[str]:
    sizes: Counter[str] = Counter()
    for path in data_directory.rglob("*"):
        with suppress(OSError):
            if path.is_file() and "savepoints" not in path.parts:  # kept until their pipeline goes
                sizes[_kind(path.relative_to(data_directory))] += path.stat().st_size
    return sizes


def _kind(path: Path) -> str:
    if any(part.startswith("scratch-") for part in path.parts):
        return "disk: scratch"
    if path.suffix == ".log":
        return "disk: logs"
    return "disk: database" if path.parts[0].startswith("arroyo.db") else f"disk: {path.parts[0]}"
