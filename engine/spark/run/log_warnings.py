"""Report Spark's warnings once each, in our words.

    WARN ProcessingTimeExecutor: Current batch is falling behind. The trigger interval is 1000 milliseconds, but ...
        "epochs take longer than the checkpoint interval of 1000 ms: the last one took 4212 ms"
    WARN DataSourceManager: The data source arroyo_orders replaced a previously registered data source.
        dropped: users cannot act on it
    WARN BlockManager: Block rdd_7 was not found
        "Spark's BlockManager: Block rdd_7 was not found"

Later warnings of the same kind are dropped, whatever their figures. All of them are in Spark's log.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

_LINE = re.compile(r"\d{4}-\d\d-\d\dT\S+Z (?:WARN|ERROR) ([\w.$-]+): (.*)")
_BLOCK = 1024 * 1024
"""Bytes of the log that are read at once. If there are more, the oldest are skipped."""
_KINDS = 200
"""Largest number of kinds of warnings. A run with more has a fault that its failure will name."""
_LONGEST = 500
"""Largest number of characters of a reported warning."""

# What Spark says of every healthy run, and what the driver says itself in better words.
_DROPPED = (
    ("TransformWithStateInPySparkStateServer", ".*"),
    ("DAGScheduler", "Failed to cancel job group.*"),
    ("ResolveWriteToStream", "spark.sql.adaptive.enabled is not supported.*"),
    ("MicroBatchExecution", "Disabling AQE.*|Query .* terminated with error"),
    ("DataSourceManager", "The data source .* replaced a previously registered.*"),
    ("SimpleFunctionRegistry", "The function .* replaced a previously registered.*"),
    ("SparkConf", "Note that spark.local.dir will be overridden.*"),
    ("LogicalRDD", "The output columns are expected to the same.*"),
    ("ChecksumCheckpointFileManager", "No checksum file found.*"),
    ("StateSourceOptions", ".*"),
    ("SQLConf", "The SQL config .* has been deprecated.*"),
    ("Shell", "Interrupted while joining.*"),
    ("Executor", "Exception in task.*"),
    ("TaskSetManager", "Lost task.*|Task .* failed .* times; aborting job"),
    ("NettyRpcEnv", "Ignored (message|failure).*"),
    ("Inbox", "Ignoring error.*"),
)
_IN_OUR_WORDS = (
    (
        "ProcessingTimeExecutor",
        r"Current batch is falling behind\. The trigger interval is (\d+) milliseconds, but spent (\d+) milliseconds.*",
        r"epochs take longer than the checkpoint interval of \1 ms: the last one took \2 ms",
        "log.epochs_behind",
    ),
    (
        "StateStore",
        "Error running maintenance thread.*",
        "old state could not be tidied up; it is tried again",
        "log.state_maintenance",
    ),
    (
        "NetworkClient",
        r".*Connection to node \S+ \((\S+?)\) could not be established.*",
        r"the Kafka broker at \1 cannot be reached; it is tried again",
        "log.broker_away",
    ),
    (
        "TaskMemoryManager|MemoryStore",
        "(Failed to allocate a page|Not enough space to cache).*",
        "Java's memory is short, and work is put off to disk; a larger `memory` makes it faster",
        "log.memory_short",
    ),
)


@dataclass(frozen=True, slots=True)
class LogWarning:
    """A warning for the user. The code is stable; it is None if the text is Spark's."""

    text: str
    code: str | None = None


def in_our_words(line: str) -> LogWarning | None:
    """Translate a line of Spark's log for users; return None if it is no warning, or a useless one."""
    entry = _LINE.match(line)
    if entry is None:
        return None
    source, message = entry[1], entry[2].strip()
    if any(re.fullmatch(name, source) and re.fullmatch(pattern, message) for name, pattern in _DROPPED):
        return None
    for name, pattern, words, code in _IN_OUR_WORDS:
        if re.fullmatch(name, source) and (meant := re.fullmatch(pattern, message)) is not None:
            return LogWarning(meant.expand(words), code)
    return LogWarning(f"Spark's {source}: {message[:_LONGEST]}")


@dataclass(slots=True)
class SparkLog:
    """Spark's log from its current end on. Runs append to the log of earlier runs."""

    path: Path
    _offset: int = field(init=False)
    _file: int | None = field(init=False)
    _kinds: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._file, self._offset = self._stat()

    def fresh_warnings(self) -> list[LogWarning]:
        """Return the warnings of kinds that are new since the last call."""
        warnings: list[LogWarning] = []
        for line in self._fresh_lines():
            warning = in_our_words(line)
            if warning is None or len(self._kinds) >= _KINDS:
                continue
            kind = warning.code or re.sub(r"\d+", "0", warning.text)
            if kind not in self._kinds:
                self._kinds.add(kind)
                warnings.append(warning)
        return warnings

    def _fresh_lines(self) -> list[str]:
        file, size = self._stat()
        if file != self._file or size < self._offset:
            self._file, self._offset = file, 0  # the file has rolled over
        if size == self._offset:
            return []
        begin = max(self._offset, size - _BLOCK)
        try:
            with self.path.open("rb") as log:
                log.seek(begin)
                content = log.read(_BLOCK)
        except OSError:
            return []
        whole = content[: content.rfind(b"\n") + 1]
        self._offset = begin + len(whole)
        return whole.decode(errors="replace").splitlines()

    def _stat(self) -> tuple[int | None, int]:
        try:
            status = self.path.stat()
        except OSError:
            return None, 0
        return status.st_ino, status.st_size
