"""Response headers. Only Airflow itself may frame the page, inline scripts are forbidden, and a response of the control
plane is never executed as a script."""

from __future__ import annotations

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
