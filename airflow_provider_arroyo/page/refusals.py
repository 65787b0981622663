"""Refusals of the proxy: a problem in the control plane's format, or a page with its text."""

from __future__ import annotations

from html import escape

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from airflow_provider_arroyo.page.headers import PLAIN_PAGE, PROBLEM

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
    """Whether a script of the page has asked, and nobody who would read a page."""
    return API in request.url.path


def answer(request: Request, refusal: NotPassedOnError) -> Response:
    """The refusal, for a script or for a reader."""
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
    """A page of a heading, some sentences and links, all of them shown as text."""
    style = f"{request.scope.get('root_path', '')}/plain.css"
    listed = "".join(f'<li><a href="{escape(to)}">{escape(name)}</a></li>' for name, to in (links or {}).items())
    content = "".join(f"<p>{escape(sentence)}</p>" for sentence in said if sentence)
    html = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Arroyo</title>'
        f'<link rel="stylesheet" href="{escape(style)}"></head><body><main><h1>{escape(title)}</h1>{content}'
        f"{f'<ul>{listed}</ul>' if listed else ''}</main></body></html>"
    )
    return HTMLResponse(html, status, headers=PLAIN_PAGE)
