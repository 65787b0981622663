"""OpenAPI description, and a page to try the API; neither loads anything from other servers."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse, Response

from engine.api.http import problems
from engine.api.http.authentication import is_open
from engine.jobs.address import API_PREFIX

_PATH = "/api-docs"
PAGE = f"{API_PREFIX}{_PATH}/ui"
ROUTER = APIRouter(prefix=_PATH, include_in_schema=False)
SHORTCUT = APIRouter(include_in_schema=False)

_BEARER = "bearer"
# A page that shows whatever the API answers loads nothing from other hosts, and sends them nothing.
_POLICY = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'"
_HTML = f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Arroyo control plane</title>
<link rel="stylesheet" href="{API_PREFIX}{_PATH}/swagger-ui.css">
</head>
<body>
<div id="swagger-ui"></div>
<script src="{API_PREFIX}{_PATH}/swagger-ui-bundle.js"></script>
<script src="{API_PREFIX}{_PATH}/start.js"></script>
</body>
</html>
"""
_START = f"""SwaggerUIBundle({{
  url: "{API_PREFIX}{_PATH}/openapi.json",
  dom_id: "#swagger-ui",
  deepLinking: true,
  validatorUrl: null,
}});
"""


@ROUTER.get("/openapi.json")
def openapi(request: Request) -> JSONResponse:
    """Return the description of the API."""
    return JSONResponse(describe(request.app))


@ROUTER.get("/ui")
def page() -> HTMLResponse:
    """Return a page that shows the description, and can send requests."""
    return HTMLResponse(_HTML, headers={"Content-Security-Policy": _POLICY})


@ROUTER.get("/start.js")
def start() -> Response:
    """Return the page's first script; it is a file of its own, since the page's policy allows no inline scripts."""
    return Response(_START, media_type="text/javascript")


@ROUTER.get("/{asset}")
def asset(asset: Literal["swagger-ui.css", "swagger-ui-bundle.js"]) -> FileResponse:
    """Return a file of Swagger UI, from the package that carries it."""
    return FileResponse(Path(str(files("fastapi_offline"))) / "static" / asset)


@SHORTCUT.get("/docs")
def docs() -> RedirectResponse:
    """Redirect from the path where users look for the page first."""
    return RedirectResponse(PAGE)


def describe(app: FastAPI) -> dict[str, Any]:
    """Return FastAPI's description of an application, with the tokens that each route needs and the form of
    problems."""
    described = app.openapi()
    described.setdefault("components", {})["securitySchemes"] = {_BEARER: {"type": "http", "scheme": "bearer"}}
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            if not is_open(path, method):
                operation["security"] = [{_BEARER: []}]
            for status, answer in operation["responses"].items():
                if int(status) >= 400:
                    answer["content"] = problems.CONTENT
    return described
