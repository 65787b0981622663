"""Classes of ours in Java: Hadoop's local file system without child processes, and the total of counts."""

from __future__ import annotations

from pathlib import Path

CLASS = "arroyo.LocalFilesInProcess"
SOURCES = tuple(sorted(Path(__file__).with_name("arroyo").glob("*.java")))
ARCHIVE = Path(__file__).with_name("local_files.jar")
