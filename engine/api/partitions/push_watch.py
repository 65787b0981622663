"""Run all pushes: one after the other per consumer, and concurrently for several, so that an unreachable Airflow delays
no other."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from engine.api.partitions.airflow_events import AirflowEvents
from engine.api.partitions.pushing import OpenAirflow, Pusher
from engine.control.context import Context
from engine.errors import PartitionConsumerNotFoundError
from engine.store import columns
from engine.store.partitions import pushes

LOG = logging.getLogger(__name__)
_AT_ONCE = 8
_STEPS = 100
"""Number of deliveries of one consumer before the next consumer's turn."""


@dataclass(slots=True)
class _Followed:
    """A consumer with a push: the change of its pipeline at the last look, and the time of the next."""

    pusher: Pusher
    change: int = -1
    again: datetime | None = None
    is_busy: bool = False
    is_outdated: bool = False
    """Whether its settings have changed meanwhile."""


@dataclass(slots=True)
class PushWatch:
    """Runs pushes on a thread of its own."""

    context: Context
    open_airflow: OpenAirflow = AirflowEvents
    interval: timedelta = timedelta(seconds=1)
    _followed: dict[str, _Followed] = field(default_factory=dict)
    _changed: dict[str, int] = field(default_factory=dict)
    """Newest change of each pipeline."""
    _read_until: int = 0
    _workers: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(_AT_ONCE, "push"))
    _is_over: bool = False

    def run(self) -> None:
        """Look again and again until closed."""
        while not self._is_over:
            try:
                self.look()
            except Exception:
                LOG.exception("an error ends this look at what is pushed; the next one tries again")
            self.context.pushes_changed.wait(self.interval.total_seconds())
            if self.context.pushes_changed.is_set():
                self.context.pushes_changed.clear()
                self._look_again()

    def close(self) -> None:
        """Make `run` return, and wait for what is on its way."""
        self._is_over = True
        self.context.pushes_changed.set()
        self._workers.shutdown(cancel_futures=True)
        for followed in self._followed.values():
            followed.pusher.close()

    def look(self) -> None:
        """Have those pushed of which something may be due."""
        with self.context.database.reading() as connection:
            known = dict(pushes.names(connection))
            news = columns.since(connection, self._read_until) if known else ()
        for each in news:
            self._changed[each.pipeline_id] = self._read_until = each.number
        for name in [name for name, followed in self._followed.items() if name not in known and not followed.is_busy]:
            self._followed.pop(name).pusher.close()
        now = self.context.clock()
        for name, pipeline_id in known.items():
            followed = self._followed.setdefault(name, _Followed(Pusher(self.context, name, self.open_airflow)))
            change = self._changed.get(pipeline_id, 0)
            is_due = followed.again is None or followed.again <= now
            if not followed.is_busy and (is_due or change > followed.change):
                followed.is_busy, followed.change, followed.again = True, change, None
                self._workers.submit(self._work, followed)

    def _work(self, followed: _Followed) -> None:
        try:
            for _ in range(_STEPS):
                followed.again = None if self._is_over else followed.pusher.step()
                if followed.again is not None or self._is_over:
                    break
        except PartitionConsumerNotFoundError:
            followed.again = None
        except Exception:
            LOG.exception("an error ends the push of %r; it is tried again", followed.pusher.name)
            followed.again = self.context.clock() + timedelta(seconds=30)
        finally:
            if followed.is_outdated:
                followed.again, followed.is_outdated = None, False
            followed.is_busy = False

    def _look_again(self) -> None:
        """A consumer was made or changed: what was known of when to look is out of date."""
        for followed in self._followed.values():
            followed.again, followed.is_outdated = None, followed.is_busy
