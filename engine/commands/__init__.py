"""Verbs of the command line that speak to a control plane, one a module."""

from __future__ import annotations

from engine.commands.base import Command
from engine.commands.deploy import DEPLOY
from engine.commands.events import EVENTS
from engine.commands.fork import FORK
from engine.commands.list_pipelines import LIST
from engine.commands.logs import LOGS
from engine.commands.move import MOVE
from engine.commands.partitions import PARTITIONS
from engine.commands.pipelines import DELETE, RESCALE, SHOW, STOP
from engine.commands.rehearsals import REHEARSALS
from engine.commands.reprocess import REPROCESS
from engine.commands.restore import RESTORE
from engine.commands.rollback import ROLLBACK
from engine.commands.savepoint import SAVEPOINT, SAVEPOINTS
from engine.commands.serve import SERVE
from engine.commands.start import RESTART, START
from engine.commands.stored import CONNECTIONS, TABLES
from engine.commands.sweep import SWEEP
from engine.commands.tail import TAIL
from engine.commands.token import TOKEN
from engine.commands.top import TOP
from engine.commands.ui import UI
from engine.commands.watermark import WATERMARK

REMOTE: tuple[Command, ...] = (
    SERVE,
    UI,
    DEPLOY,
    LIST,
    TOP,
    SHOW,
    START,
    STOP,
    RESTART,
    SAVEPOINT,
    SAVEPOINTS,
    RESTORE,
    ROLLBACK,
    FORK,
    MOVE,
    REHEARSALS,
    REPROCESS,
    RESCALE,
    LOGS,
    EVENTS,
    TAIL,
    WATERMARK,
    DELETE,
    PARTITIONS,
    CONNECTIONS,
    TABLES,
    TOKEN,
    SWEEP,
)
"""In the order in which the help names them."""
