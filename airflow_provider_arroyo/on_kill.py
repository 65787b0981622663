"""Action on a pipeline when the task that deployed it is killed."""

from __future__ import annotations

from typing import Literal, assert_never

from airflow_provider_arroyo import calls, savepoints
from airflow_provider_arroyo.conversations import Conversation, ask

OnKill = Literal["detach", "stop", "savepoint_and_stop"]
"""`detach`: the pipeline keeps running. `stop`: it takes a last checkpoint and stops. `savepoint_and_stop`: also takes
a savepoint of that checkpoint."""

CHOICES: tuple[OnKill, ...] = ("detach", "stop", "savepoint_and_stop")


def carry_out(action: OnKill, pipeline: str, key: str) -> Conversation[None]:
    """Ask for what was chosen, and do not wait until it is done: there is little time when a task is killed."""
    match action:
        case "detach":
            return
        case "stop":
            yield from ask(calls.stop_pipeline(pipeline, "checkpoint"))
        case "savepoint_and_stop":
            yield from ask(savepoints.stop_with_savepoint(pipeline, label="when the task was killed", key=key))
        case never:
            assert_never(never)
