"""Hadoop's local file system as one class of ours, which starts no child processes."""

from __future__ import annotations

from pathlib import Path

CLASS = "arroyo.LocalFilesInProcess"
SOURCE = Path(__file__).with_name("arroyo") / "LocalFilesInProcess.java"
ARCHIVE = Path(__file__).with_name("local_files.jar")
