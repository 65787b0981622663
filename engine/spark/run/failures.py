r"""Convert exceptions of Spark to errors that a user can act on.

An exception in an epoch arrives wrapped several times, often as text that has crossed two processes. Our own errors are
recovered from markers around them.

    thrown    [STREAM_FAILED] ... Python worker: Traceback ... engine.errors.data.BadRecordError: data.bad_record: line
              3 of /in.json is not JSON\n  hint: mend the line ...
    raised    BadRecordError("line 3 of /in.json is not JSON", hint="mend the line")
    thrown    [DIVIDE_BY_ZERO] Division by zero. Use `try_divide` to tolerate divisor being 0 ...
    raised    DivisionByZeroError("Division by zero", hint="divide by nullif(divisor, 0)")
"""

from __future__ import annotations

import re

from pyspark.errors import PySparkException

from engine import errors
from engine.checkpoints.layout import StatePaths
from engine.errors import EngineError, RunError, message_of

_OURS = re.compile(
    r"engine\.errors\.\w+\.(\w+): ([a-z_]+\.[a-z_]+)(?: at (\d+:\d+))?: (.*?)(?:\n  hint: ([^\n]*))?(?=\n|$)"
)
_ERRORS = {
    kind.__name__: kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, EngineError)
}


def explain_failure(error: PySparkException, paths: StatePaths, memory_kills: int = 0) -> EngineError:
    """Return the EngineError inside, if there is one; else Spark's own message without its wrapping. `memory_kills` is
    the number of processes that the kernel has killed for memory since the run began."""
    text = message_of(error)
    marked = _OURS.search(text)
    if marked:
        return _ERRORS.get(marked[1], RunError)(marked[4], hint=marked[5])
    if (bucket := _bucket_error(text)) is not None:
        return bucket
    state = _STATE.search(text)
    if state:
        return errors.UnreadableStateError(
            f"the state cannot be read: {state[1]}: {_short(text)}",
            hint=f"restore a savepoint, or start afresh with --force; Spark's log is in {paths.logs}",
        )
    if _DISK_FULL.search(text):
        return errors.DiskFullError(
            f"the disk of {paths.root} is full: {_short(text)}", hint="free space on the disk; nothing is lost"
        )
    if _LATE.search(text):
        return errors.WorkerLateError(
            "a Python process of Spark's is not up in time",
            hint="nothing is lost; if it comes back, give the machine less to do or more processors, and see in "
            f"{paths.logs / 'spark.log'} whether Python starts at all",
        )
    if (process := _dead_process(text, getattr(error, "_stackTrace", None) or "")) is not None:
        was_ended = "was ended by the kernel, which was out of memory" if memory_kills else "has ended unexpectedly"
        return errors.WorkerDiedError(
            f"{process} {was_ended}",
            hint=f"it was killed, or memory was short; Spark's log is in {paths.logs / 'spark.log'}",
        )
    value = _value_error(text)
    if value:
        return value
    return errors.EpochFailedError(_short(text), hint=f"the whole log is in {paths.logs / 'spark.log'}")


_S3A = re.compile(r"org\.apache\.hadoop\.fs\.s3a\.\w|software\.amazon\.awssdk\.|s3a://")
_MISSING_OBJECT = re.compile(r"FileNotFoundException: [^\n]*s3a://(?!.*(?:NoSuchBucket|UnknownStore))")
_REFUSED_BY_BUCKET = re.compile(
    r"AccessDenied|Forbidden|NoSuchBucket|UnknownStoreException|InvalidAccessKeyId|SignatureDoesNotMatch|"
    r"AWSBadRequestException|AWSRedirectException|NoAuthWithAWSException|CredentialInitializationException"
)
_EXPIRED = re.compile(r"ExpiredToken|token included in the request is expired")


def _bucket_error(text: str) -> EngineError | None:
    """Return the error of the bucket that fails to store or load the state, if that is the cause; a missing file there
    is an error of the state."""
    if not _S3A.search(text) or _MISSING_OBJECT.search(text):
        return None
    if _EXPIRED.search(text):
        return errors.StateBucketUnavailableError(
            f"the credentials for the state have expired: {_short(text)}",
            hint="nothing is lost: the next start uses the credentials of that time",
        )
    if _REFUSED_BY_BUCKET.search(text):
        return errors.StateBucketError(
            f"the bucket with the state refuses requests: {_short(text)}",
            hint="check the bucket, AWS_REGION, AWS_ENDPOINT_URL and the permissions of the credentials",
        )
    return errors.StateBucketUnavailableError(
        f"the bucket with the state does not answer: {_short(text)}",
        hint="nothing is lost: the job goes on from its last epoch once the bucket answers",
    )


_DISK_FULL = re.compile(r"No space left on device|Disk quota exceeded")
_LATE = re.compile(r"Python worker failed to connect back")
_WORKER = re.compile(r"Python worker exited unexpectedly")
# Where a process has broken off in the middle of a word, Spark's message is empty, and only the stack says who it was.
_BROKEN_OFF = re.compile(
    r"(?:EOFException|SocketException|ClosedChannelException|Broken pipe|Connection reset)[^\n]*"
    r"(?:\n\s+at java[./\w]*[^\n]*)*\n\s+at org\.apache\.spark\.([\w.$]*[Pp]ython[\w.$]*)"
)
_STATE = re.compile(
    r"\[(STREAMING_CHECKPOINT_\w+|CANNOT_LOAD_STATE_STORE[\w.]*|CONCURRENT_STREAM_LOG_UPDATE|CHECKPOINT_\w+)\]"
)


def _dead_process(text: str, stack: str) -> str | None:
    """Return which Python process has ended during its work, if one has."""
    broken_off = _BROKEN_OFF.search(stack) or _BROKEN_OFF.search(text)
    if broken_off and "StreamingSource" in broken_off[1]:
        return "the Python process that plans a table's epochs"
    return "a Python process of Spark's that reads, computes or writes" if broken_off or _WORKER.search(text) else None


_VALUES: tuple[tuple[str, type[errors.DataError], str], ...] = (
    (
        r"CAST_OVERFLOW|\w*ARITHMETIC_OVERFLOW[\w.]*|NUMERIC_VALUE_OUT_OF_RANGE[\w.]*|DATETIME_OVERFLOW",
        errors.OutOfRangeError,
        "cast to a wider type, or filter such rows out",
    ),
    (r"\w*(?:DIVIDE|DIVIDED|REMAINDER)_BY_ZERO", errors.DivisionByZeroError, "divide by nullif(divisor, 0)"),
    (
        r"CAST_INVALID_INPUT|CANNOT_PARSE_\w+|INVALID_UTF8_STRING|DATETIME_FIELD_OUT_OF_BOUNDS[\w.]*",
        errors.InvalidValueError,
        "TRY_CAST gives NULL instead",
    ),
)
_RAISED = re.compile(r"\[USER_RAISED_EXCEPTION\] (not in the range of [^\n]*?)(?: SQLSTATE|\n|$)")
_UNANSWERED = re.compile(r"\[USER_RAISED_EXCEPTION\] (\w+ has no answer for [^\n]*?)(?: SQLSTATE|\n|$)")
_ADVICE = re.compile(r"( Use [`']|\. Correct the value| If necessary| To return NULL| SQLSTATE).*", re.DOTALL)


def _value_error(text: str) -> EngineError | None:
    """Return the error of a row's value, without Spark's advice for its own users."""
    raised = _RAISED.search(text)
    if raised:
        return errors.OutOfRangeError(raised[1], hint=_VALUES[0][2])
    unanswered = _UNANSWERED.search(text)
    if unanswered:
        return errors.InvalidValueError(unanswered[1], hint="filter such rows out, or leave them to a branch of CASE")
    for named, kind, hint in _VALUES:
        message = re.search(rf"\[(?:{named})\] ([^\n]*)", text)
        if message:
            return kind(_ADVICE.sub("", message[1]).strip().rstrip("."), hint=hint)
    return None


_CAUSE = re.compile(r"^(Caused by: )?[\w.$]+(Error|Exception)\b")
_NO_MESSAGE = re.compile(r"[\w.$]+:?")
_FRAME = re.compile(r'File "[^"]*?([^/"]+)", line (\d+), in ')


def _short(text: str) -> str:
    """Return the innermost line with a message. For an exception without a message, return the line that raised it."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    raised = _raised_by_python(text)
    causes = [line for line in lines if _CAUSE.match(line) or line == raised]
    chosen = causes[-1] if causes else lines[0] if lines else "no message"
    if _NO_MESSAGE.fullmatch(chosen) and (frames := _FRAME.findall(text)):
        chosen = f"{chosen.rstrip(':')} in line {frames[-1][1]} of {frames[-1][0]}"
    return chosen.removeprefix("Caused by: ")[:500]


def _raised_by_python(text: str) -> str | None:
    """Return the line with the exception of the last Python traceback; the class need not end in `Error`."""
    _, header, traceback = text.rpartition("Traceback (most recent call last):\n")
    outside = (line for line in traceback.splitlines() if line.strip() and not line[0].isspace())
    return next((line.strip() for line in outside), None) if header else None
