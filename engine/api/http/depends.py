"""FastAPI dependency for the context of the control plane."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from engine.control.context import Context


async def _context(request: Request) -> Context:
    context: Context = request.app.state.context
    return context


ContextDep = Annotated[Context, Depends(_context)]
"""The context, for handlers."""
