"""Serve the web UI, the files built from `engine/web`, without a token."""

from __future__ import annotations

import gzip
import mimetypes
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import Response
from starlette.exceptions import HTTPException

ROUTER = APIRouter(include_in_schema=False)
BUILT = Path(str(files("engine"))) / "web" / "built"

# The page has no inline script or style, and contacts no other host.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Vary": "Accept-Encoding",
}
# The name of an asset says what is in it.
_FOREVER = {"Cache-Control": "public, max-age=31536000, immutable"}
_FRESH = {"Cache-Control": "no-cache"}


@dataclass(frozen=True, slots=True)
class _Asset:
    content: bytes
    packed: bytes
    kind: str


@ROUTER.get("/")
def page(request: Request) -> Response:
    """Return the HTML page."""
    return _answer(request, "index.html", _FRESH)


@ROUTER.get("/assets/{name}")
def asset(request: Request, name: str) -> Response:
    """Return a script, a style or a picture of the page."""
    return _answer(request, f"assets/{name}", _FOREVER)


@cache
def _assets() -> Mapping[str, _Asset]:
    """Return all built files, by their paths; others are not served, whatever a request names."""
    return {path.relative_to(BUILT).as_posix(): _read(path) for path in BUILT.rglob("*") if path.is_file()}


def _read(path: Path) -> _Asset:
    content = path.read_bytes()
    kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return _Asset(content, gzip.compress(content, mtime=0), kind)


def _answer(request: Request, path: str, caching: Mapping[str, str]) -> Response:
    found = _assets().get(path)
    if found is None:
        raise HTTPException(404)
    headers = {**_HEADERS, **caching}
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(found.packed, media_type=found.kind, headers={**headers, "Content-Encoding": "gzip"})
    return Response(found.content, media_type=found.kind, headers=headers)
