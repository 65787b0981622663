"""Compile and pack the Java classes of this folder: `python -m engine.spark.jvm.local_files.build`.

The archive is committed, so that users need no compiler. It contains a digest of its source. A test compares the
digest, and also compiles again if a Java compiler of the same major version is installed.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from engine.spark.jvm.local_files import ARCHIVE, SOURCES
from engine.spark.jvm.start import spark_home

_RELEASE = "17"
"""Oldest Java version that Spark supports."""
_EPOCH = (2020, 1, 1, 0, 0, 0)


def digest_of_source() -> str:
    """Return the digest of the sources that the archive records."""
    return hashlib.sha256(b"".join(source.read_bytes() for source in SOURCES)).hexdigest()


def compiler_version(javac: str) -> str:
    """Return the major version of a compiler."""
    said = subprocess.run([javac, "-version"], capture_output=True, text=True, check=True)
    return re.split(r"[ .]", (said.stdout or said.stderr).strip())[1]


def build(archive: Path, javac: str) -> None:
    """Compile the sources into an archive, the same bytes for the same sources and compiler."""
    with tempfile.TemporaryDirectory() as folder:
        jars = str(spark_home() / "jars" / "*")
        subprocess.run(
            [javac, "--release", _RELEASE, "-g:none", "-proc:none", "-cp", jars, "-d", folder, *map(str, SOURCES)],
            check=True,
        )
        manifest = f"Manifest-Version: 1.0\nBuild-Jdk-Spec: {compiler_version(javac)}\n"
        manifest += "".join(f"Source-Digest-{part}: {text}\n" for part, text in enumerate(_halves(digest_of_source())))
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as jar:
            jar.writestr(zipfile.ZipInfo("META-INF/MANIFEST.MF", _EPOCH), manifest + "\n")
            for compiled in sorted(Path(folder).rglob("*.class")):
                jar.writestr(zipfile.ZipInfo(str(compiled.relative_to(folder)), _EPOCH), compiled.read_bytes())


def _halves(digest: str) -> tuple[str, str]:
    """Split a digest for a manifest, whose lines have at most 72 bytes."""
    return digest[:32], digest[32:]


def main() -> int:
    """Write the archive; return 1 if there is no compiler."""
    javac = shutil.which("javac")
    if javac is None:
        sys.stderr.write("there is no javac on the PATH to compile our classes with\n")
        return 1
    build(ARCHIVE, javac)
    sys.stdout.write(f"wrote {ARCHIVE}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
