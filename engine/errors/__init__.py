"""Every error a user can meet, each with a stable code. Import them from here; the modules are their families."""

from __future__ import annotations

from engine.errors.base import *  # noqa: F403
from engine.errors.control import *  # noqa: F403
from engine.errors.data import *  # noqa: F403
from engine.errors.run import *  # noqa: F403
from engine.errors.script import *  # noqa: F403
from engine.errors.state import *  # noqa: F403
