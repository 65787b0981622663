"""The Java archives by which Spark reads and writes S3, which `arroyo jars` fetches once.

    ~/.cache/arroyo/jars/s3-3f2a91c0/hadoop-aws-3.5.0.jar, s3-2.36.2.jar, ...      36 files, 13 MB

Spark comes without them. Each is pinned with its digest, and none is used that differs. The Ivy that Spark brings
fetches them. Of the SDK they are only the modules that S3A uses: its bundle has 500 MB.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from xml.sax.saxutils import quoteattr

from engine.errors import JarsError, MissingJarsError
from engine.spark.jvm.class_archive import cache_dir
from engine.spark.jvm.java import find_java

_PINNED: Mapping[str, str] = json.loads(Path(__file__).with_suffix(".json").read_text())
"""Group, name and version with the SHA-256 of the archive. Netty, the HTTP client and the loggers are Spark's own."""
_SECONDS = 600
_HINT = "run `arroyo jars`, which fetches them (13 MB); without a network, `arroyo jars --from FOLDER`"


def s3_folder(env: Mapping[str, str]) -> Path:
    """Return the folder of the archives, whether it exists or not: another set has another name."""
    return cache_dir(env) / "jars" / f"s3-{hashlib.sha256(json.dumps(_PINNED).encode()).hexdigest()[:8]}"


def has_s3_jars(env: Mapping[str, str]) -> bool:
    """Whether the archives were fetched: the folder gets its name once it is complete."""
    return s3_folder(env).is_dir()


def s3_jars(env: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the archives; raise MissingJarsError if they were not fetched."""
    folder = s3_folder(env)
    paths = tuple(folder / _file_name(coordinates) for coordinates in _PINNED)
    if not all(path.exists() for path in paths):
        raise MissingJarsError("the Java archives for S3 are not installed on this machine", hint=_HINT)
    return paths


def fetch_s3_jars(
    env: Mapping[str, str], home: Path, *, source: Path | None = None, settings: Path | None = None
) -> Path:
    """Fetch the archives with the Ivy of the Spark in `home`, or copy them from the folder `source`, and compare their
    digests; return their folder. `settings` are those of Ivy, for another repository. Concurrent callers fetch once,
    and an interrupted fetch leaves nothing behind."""
    folder = s3_folder(env)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.is_dir():
            with tempfile.TemporaryDirectory(dir=folder.parent) as draft:
                found = source or _fetched(Path(draft), env, home, settings)
                (complete := Path(draft) / "complete").mkdir()
                for coordinates, digest in _PINNED.items():
                    _take(found / _file_name(coordinates), digest, complete)
                complete.rename(folder)
    return folder


def _take(path: Path, digest: str, folder: Path) -> None:
    """Copy an archive if its digest is the pinned one."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise JarsError(f"{path} cannot be read: {error.strerror}", hint="fetch them again") from error
    if hashlib.sha256(content).hexdigest() != digest:
        raise JarsError(
            f"{path.name} is not the archive that this version uses: its SHA-256 differs",
            hint="do not use what was fetched; check the repository or the proxy that it came from",
        )
    (folder / path.name).write_bytes(content)


def _fetched(draft: Path, env: Mapping[str, str], home: Path, settings: Path | None) -> Path:
    """Have the Ivy of Spark in `home` fetch the archives, and return their folder."""
    ivy = next((home / "jars").glob("ivy-*.jar"), None)
    if ivy is None:
        raise JarsError("Ivy is not among the archives of Spark", hint="copy the archives with --from FOLDER")
    (draft / "ivy.xml").write_text(_ivy_file())
    command = [str(find_java(env).path), "-jar", str(ivy), "-ivy", str(draft / "ivy.xml")]
    command += ["-cache", str(draft / "cache"), "-confs", "default", "-types", "jar", "bundle"]
    command += ["-retrieve", str(draft / "lib" / "[artifact]-[revision].[ext]")]
    command += [] if settings is None else ["-settings", str(settings)]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise JarsError(f"the archives were not fetched within {_SECONDS} s", hint=_HINT) from error
    if ended.returncode != 0 or not (draft / "lib").is_dir():
        raise JarsError(f"the archives cannot be fetched: {_reason(ended.stdout + ended.stderr)}", hint=_HINT)
    return draft / "lib"


def _ivy_file() -> str:
    rows = (coordinates.split(":") for coordinates in _PINNED)
    lines = (
        f"<dependency org={quoteattr(group)} name={quoteattr(name)} rev={quoteattr(version)} transitive='false'"
        " conf='default->default'/>"
        for group, name, version in rows
    )
    return (
        "<ivy-module version='2.0'><info organisation='arroyo' module='s3'/>"
        "<configurations><conf name='default'/></configurations>"
        f"<dependencies>{''.join(lines)}</dependencies></ivy-module>"
    )


def _file_name(coordinates: str) -> str:
    _, name, version = coordinates.split(":")
    return f"{name}-{version}.jar"


def _reason(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if "UNRESOLVED" in line or "ERROR" in line or "FAILED" in line]
    return "; ".join(lines[:3])[:500] or "Ivy does not say why"
