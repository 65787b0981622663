"""Our Java classes: a local file system without child processes, an aggregate that sums counts, and planned
watermarks."""

from __future__ import annotations

from pathlib import Path

CLASS = "arroyo.LocalFilesInProcess"
EXTENSIONS = ("arroyo.NothingCloses", "arroyo.AlreadyResolved")
"""Spark extensions. One skips the state of windows in an epoch in which no window can end; the other reuses the
resolved plan from epoch to epoch."""
SOURCES = tuple(sorted(Path(__file__).with_name("arroyo").glob("*.java")))
ARCHIVE = Path(__file__).with_name("local_files.jar")
