"""From what Spark throws to what a user can act on.

Everything that goes wrong in an epoch arrives wrapped several times over, often as text that crossed two processes.
Our own errors are found again by the marks around them.
"""

from __future__ import annotations

import re

from pyspark.errors import PySparkException

from engine import errors
from engine.checkpoints.layout import StatePaths
from engine.errors import EngineError, RunError

_OURS = re.compile(r"engine\.errors\.(\w+): ([a-z_]+\.[a-z_]+)(?: at (\d+:\d+))?: (.*?)(?:\n  hint: ([^\n]*))?(?=\n|$)")


def explain_failure(error: PySparkException, paths: StatePaths) -> EngineError:
    """The error of ours inside, if there is one; else Spark's own message without its wrapping."""
    text = str(error)
    found = _OURS.search(text)
    if found:
        kind = getattr(errors, found[1], RunError)
        if isinstance(kind, type) and issubclass(kind, EngineError):
            return kind(found[4], hint=found[5])
    state = _STATE.search(text)
    if state:
        return errors.UnreadableStateError(
            f"the state cannot be read: {state[1]}: {_short(text)}",
            hint=f"restore a savepoint, or start afresh with --force; Spark's log is in {paths.logs}",
        )
    return errors.EpochFailedError(_short(text), hint=f"the whole story is in {paths.logs / 'spark.log'}")


_STATE = re.compile(
    r"\[(STREAMING_CHECKPOINT_\w+|CANNOT_LOAD_STATE_STORE[\w.]*|CONCURRENT_STREAM_LOG_UPDATE|CHECKPOINT_\w+)\]"
)


def _short(text: str) -> str:
    """The innermost line that says something."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    causes = [line for line in lines if re.match(r"^(Caused by: )?[\w.$]+(Error|Exception)\b", line)]
    chosen = causes[-1] if causes else lines[0] if lines else "no message"
    return chosen.removeprefix("Caused by: ")[:500]
