"""Files of the web UI. They are installed with this provider and never come from a control plane: a script from there
would run as part of Airflow, with the rights of the user."""

from __future__ import annotations

import mimetypes
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

PLAIN_STYLE = """:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0; }
main { max-width: 42rem; margin: 10vh auto; padding: 0 1.5rem; }
h1 { font-size: 1.4rem; }
li { margin: .4rem 0; }
"""


@dataclass(frozen=True, slots=True)
class File:
    """A file and its content type."""

    content: bytes
    kind: str


@cache
def built() -> Mapping[str, File]:
    """Return all files of the page by their paths; empty if the provider was installed without them."""
    # both packages are in one distribution; the other one is located without importing it
    spec = find_spec("engine")
    places = [] if spec is None else list(spec.submodule_search_locations or [])
    folders = [folder for place in places if (folder := Path(place) / "web" / "built").is_dir()]
    return {
        path.relative_to(folder).as_posix(): _read(path)
        for folder in folders[:1]
        for path in folder.rglob("*")
        if path.is_file()
    }


def mark() -> File | None:
    """Return the icon of the page."""
    return next((file for path, file in built().items() if path.startswith("assets/mark-")), None)


def _read(path: Path) -> File:
    return File(path.read_bytes(), mimetypes.guess_type(path.name)[0] or "application/octet-stream")
