"""Verbs of the command line that speak to a control plane, one a module."""

from __future__ import annotations

from engine.commands.base import Command

REMOTE: tuple[Command, ...] = ()
