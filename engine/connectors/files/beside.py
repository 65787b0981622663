"""Location of redirected files: a sibling folder with the name of the prefix.

/out/orders              /out/january/orders
s3://lake/raw/orders     s3://lake/raw/january/orders
s3://lake                refused: a whole bucket has no sibling, and a folder in it would be among its files
"""

from __future__ import annotations

from pathlib import Path

from engine.connectors.files.storage import Prefix, read_location


def beside(path: Path, prefix: str) -> Path:
    """Return a path in the sibling folder of that name; raise ValueError if there can be none."""
    if path.name in ("", ".."):
        raise ValueError(f"{path} has no folder around it that its path names")
    return path.parent / prefix / path.name


def text_beside(text: str, prefix: str) -> str:
    """Return a sibling of a directory, or of a prefix in a bucket."""
    location = read_location(text)
    if isinstance(location, Path):
        return str(beside(location, prefix))
    folder, _, name = location.prefix.rpartition("/")
    if not name:
        raise ValueError(f"{location} is a whole bucket, and has no sibling location")
    return str(Prefix(location.bucket, "/".join(part for part in (folder, prefix, name) if part), location.endpoint))
