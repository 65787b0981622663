"""Background work on savepoints and previews."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from engine.control.context import Context
from engine.control.deletions import end_preview
from engine.control.savepoints.savepoint_removal import finish_all, prune
from engine.control.savepoints.scheduled_savepoints import carry_out
from engine.errors import EngineError
from engine.store import savepoints
from engine.store.pipelines import previews

LOG = logging.getLogger(__name__)


@dataclass(slots=True)
class Caretaker:
    """Completes deletions, ends previews, takes scheduled savepoints and applies retention rules, on a thread of its
    own."""

    context: Context
    interval: timedelta = timedelta(seconds=10)
    _is_over: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """Run periodically until closed."""
        while not self._is_over.is_set():
            try:
                self.look()
            except Exception:
                LOG.exception("an error ends this look at what is to be done; the next one tries again")
            self._is_over.wait(self.interval.total_seconds())

    def look(self) -> None:
        """Do what is due."""
        self.context.database.retry_writing()
        finish_all(self.context)
        with self.context.database.reading() as connection:
            over = previews.due(connection, self.context.clock())
        self._do_for_each(over, end_preview, "ended, being a preview")
        with self.context.database.reading() as connection:
            scheduled = savepoints.with_schedule(connection)
            kept_by_policy = savepoints.with_retention(connection)
        self._do_for_each(scheduled, carry_out, "saved as scheduled")
        self._do_for_each(kept_by_policy, prune, "pruned")

    def _do_for_each(self, pipeline_ids: Sequence[str], do: Callable[[Context, str], object], what: str) -> None:
        for pipeline_id in pipeline_ids:
            try:
                do(self.context, pipeline_id)
            except EngineError as error:  # the pipeline may have been deleted meanwhile
                LOG.warning("pipeline %s is not %s: %s", pipeline_id, what, error)

    def close(self) -> None:
        """Make `run` return."""
        self._is_over.set()
