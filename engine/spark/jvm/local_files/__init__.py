"""Classes of ours in Java: a local file system without child processes, the total of counts, and the watermark by which
windows close."""

from __future__ import annotations

from pathlib import Path

CLASS = "arroyo.LocalFilesInProcess"
EXTENSIONS = ("arroyo.NothingCloses", "arroyo.AlreadyResolved")
"""What leaves the state of windows alone in an epoch in which none may end, and what spares Spark to resolve a plan
anew in each."""
SOURCES = tuple(sorted(Path(__file__).with_name("arroyo").glob("*.java")))
ARCHIVE = Path(__file__).with_name("local_files.jar")
