"""Archive of Spark's loaded classes (AppCDS; the AOT cache from Java 25 on). It halves the start-up time of a JVM.

The first JVM of an environment writes the archive when it exits; later JVMs map it. An archive fits one JVM build and
one class path, so its name contains both. A lock keeps two JVMs from writing at once. The writing JVM holds the lock,
so the lock is released however that JVM ends. The archive gets its final name at the next start, and only if it is
complete.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.spark.jvm.java import Java
from engine.spark.jvm.local_files import ARCHIVE

_AOT_CACHE_SINCE = 25
_MAGIC_NUMBERS = {0xF00BABA2, 0xF00BABA8}
"""Magic numbers of a full archive (CDS_ARCHIVE_MAGIC) and of one on top of the JVM's own
(CDS_DYNAMIC_ARCHIVE_MAGIC)."""
_SPACE_NEEDED = 400 * 1024 * 1024


@dataclass(slots=True)
class Archive:
    """A finished archive to map, or the right to write one: then `lock` is open and `path` is its temporary name."""

    path: Path
    major: int
    lock: int | None = None

    def options(self) -> Sequence[str]:
        """Return the JVM options. The JVM silently continues without an archive that does not fit."""
        if self.major >= _AOT_CACHE_SINCE:
            option = "AOTCache" if self.lock is None else "AOTCacheOutput"
            return "-Xlog:cds*=off", "-Xlog:aot*=off", f"-XX:{option}={self.path}"
        option = "SharedArchiveFile" if self.lock is None else "ArchiveClassesAtExit"
        return "-Xlog:cds*=off", "-Xshare:auto", f"-XX:{option}={self.path}"

    def inherited(self) -> tuple[int, ...]:
        """Return the files that the JVM must hold open."""
        return () if self.lock is None else (self.lock,)

    def handed_over(self) -> None:
        """Release our handle of the lock, which the JVM holds now, so that the lock ends with the JVM."""
        if self.lock is not None:
            os.close(self.lock)


def cache_dir(env: Mapping[str, str]) -> Path:
    """Return the directory of caches: `ARROYO_CACHE`, or the user's cache directory."""
    if directory := env.get("ARROYO_CACHE"):
        return Path(directory)
    base = env.get("XDG_CACHE_HOME") or str(Path(env.get("HOME", "~")).expanduser() / ".cache")
    return Path(base) / "arroyo"


def find_archive(java: Java, jars: Sequence[Path], cache: Path, *, makes: bool = True) -> Archive | None:
    """Return the archive for this Java and these folders of jars, or, if requested, the right to create it. Return None
    if another JVM is just creating it, or if there is no directory for it."""
    folder = cache / "classes"
    try:
        finished = folder / f"{_key(java, jars)}.jsa"
        if finished.exists():
            return Archive(finished, java.major)
        folder.mkdir(parents=True, exist_ok=True)
        return _claim(finished, java.major) if makes else None
    except OSError:
        return None  # a cache that cannot be used must never stop a run


def _claim(finished: Path, major: int) -> Archive | None:
    lock = os.open(finished.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        return None
    draft = finished.with_suffix(".new")
    if finished.exists() or _is_whole(draft):
        if not finished.exists():
            draft.rename(finished)
        os.close(lock)
        return Archive(finished, major)
    draft.unlink(missing_ok=True)
    space = os.statvfs(finished.parent)
    if space.f_bavail * space.f_frsize < _SPACE_NEEDED:
        os.close(lock)
        return None
    return Archive(draft, major, lock)


def _is_whole(draft: Path) -> bool:
    """Whether an archive is complete: the JVM writes the header with the magic number last."""
    try:
        with draft.open("rb") as file:
            return int.from_bytes(file.read(4), "little") in _MAGIC_NUMBERS
    except OSError:
        return False


def _key(java: Java, jars: Sequence[Path]) -> str:
    """Return a digest of the JVM's build and of the class path as the JVM itself checks it: names, sizes, times."""
    program = java.path.resolve()
    digest = hashlib.sha256(f"{program} {program.stat().st_size} {program.stat().st_mtime_ns}\n".encode())
    release = program.parent.parent / "release"
    if release.exists():
        digest.update(release.read_bytes())
    for path in (ARCHIVE, *(path for folder in jars for path in sorted(folder.iterdir()))):
        stat = path.stat()
        digest.update(f"{path} {stat.st_size} {stat.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:24]
