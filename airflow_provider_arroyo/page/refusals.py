"""Refusals of the proxy: a problem in the control plane's format, or a page with its text.

Response headers. Only Airflow itself may frame the page, inline scripts are forbidden, and a response of the control
plane is never executed as a script.
"""

from __future__ import annotations

from html import escape

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

API = "/api/v1/"


class NotPassedOnError(Exception):
    """The request is not forwarded."""

    def __init__(self, status: int, code: str, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.hint = hint


def is_for_program(request: Request) -> bool:
    """Whether a script of the page has sent the request, and not a person who would read a page."""
    return API in request.url.path


def answer(request: Request, refusal: NotPassedOnError) -> Response:
    """Return the refusal, for a script or for a reader."""
    if not is_for_program(request):
        said = [refusal.message, refusal.hint or ""]
        return page(request, "Arroyo", said, status=refusal.status)
    problem = {
        "type": "about:blank",
        "title": refusal.code,
        "status": refusal.status,
        "code": refusal.code,
        "detail": refusal.message,
        "hint": refusal.hint,
        "errors": [],
    }
    return JSONResponse(problem, refusal.status, headers=PROBLEM, media_type="application/problem+json")


def page(
    request: Request, title: str, said: list[str], links: dict[str, str] | None = None, status: int = 200
) -> Response:
    """Return a page with a heading, sentences and links, all of them escaped."""
    style = f"{request.scope.get('root_path', '')}/plain.css"
    listed = "".join(f'<li><a href="{escape(to)}">{escape(name)}</a></li>' for name, to in (links or {}).items())
    content = "".join(f"<p>{escape(sentence)}</p>" for sentence in said if sentence)
    html = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Arroyo</title>'
        f'<link rel="stylesheet" href="{escape(style)}"></head><body><main><h1>{escape(title)}</h1>{content}'
        f"{f'<ul>{listed}</ul>' if listed else ''}</main></body></html>"
    )
    return HTMLResponse(html, status, headers=PLAIN_PAGE)


_SAFE = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "SAMEORIGIN",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
_PLAIN_POLICY = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
_FRESH = {"Cache-Control": "no-cache"}

PAGE = {**_SAFE, **_FRESH, "Content-Security-Policy": _POLICY}
PLAIN_PAGE = {**_SAFE, "Cache-Control": "no-store", "Content-Security-Policy": _PLAIN_POLICY}
ASSET = {**_SAFE, "Cache-Control": "private, max-age=31536000, immutable"}
"""Pattern of asset names, which contain a digest of their content."""
PASSED = {**_SAFE, "Content-Security-Policy": "default-src 'none'; sandbox; frame-ancestors 'none'"}
PROBLEM = {**PASSED, "Cache-Control": "no-store"}
