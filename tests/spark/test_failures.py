"""What Spark throws, in words a user can act on."""

from pathlib import Path

import pytest
from pyspark.errors import PySparkException

from engine.checkpoints.layout import StatePaths
from engine.errors import (
    BadRecordError,
    Cause,
    DiskFullError,
    DivisionByZeroError,
    EpochFailedError,
    InvalidValueError,
    OutOfRangeError,
    StateBucketError,
    StateBucketUnavailableError,
    UnreadableStateError,
    WorkerDiedError,
    WorkerLateError,
    cause_of,
)
from engine.spark.run.failures import explain_failure

PATHS = StatePaths(Path("/state"))

WRAPPED = """[STREAM_FAILED] Query [id = 1] terminated with exception: An exception was raised by the Python worker:
Traceback (most recent call last):
  File "/engine/connectors/text_files.py", line 1, in read
engine.errors.data.BadRecordError: data.bad_record: line 3 of /in.json is not JSON
  hint: mend the line, or set bad_data = 'drop'
\tat org.apache.spark.api.python.BasePythonRunner.handle(PythonRunner.scala:1)"""


class Captured(PySparkException):
    """One that has crossed from Java, with Java's stack."""

    _stackTrace = ""  # noqa: N815 - Spark's name


def test_an_error_of_ours_is_found_however_it_is_wrapped() -> None:
    error = explain_failure(PySparkException(WRAPPED), PATHS)

    assert type(error) is BadRecordError
    assert error.message == "line 3 of /in.json is not JSON"
    assert error.hint == "mend the line, or set bad_data = 'drop'"


@pytest.mark.parametrize(
    "where", ["java.io.IOException: No space left on device", "OSError: [Errno 122] Disk quota exceeded"]
)
def test_a_full_disk_is_named_wherever_it_was_met(where: str) -> None:
    error = explain_failure(PySparkException(f"[STREAM_FAILED] Query terminated\nCaused by: {where}"), PATHS)

    assert type(error) is DiskFullError
    assert cause_of(error) is Cause.OUTAGE


def test_a_worker_that_died_is_named() -> None:
    text = "org.apache.spark.SparkException: Python worker exited unexpectedly (crashed). Consider setting ..."

    assert type(explain_failure(PySparkException(text), PATHS)) is WorkerDiedError
    assert "out of memory" in explain_failure(PySparkException(text), PATHS, memory_kills=1).message


@pytest.mark.parametrize(
    ("runner", "process"),
    [
        ("sql.execution.python.streaming.PythonStreamingSourceRunner.latestOffset", "plans a table's epochs"),
        ("api.python.BasePythonRunner$ReaderIterator.handlePythonException", "reads, computes or writes"),
    ],
)
@pytest.mark.parametrize("broken", ["java.io.EOFException", "java.net.SocketException: Connection reset"])
def test_a_process_that_broke_off_in_the_middle_of_a_word_is_named_by_the_stack(
    runner: str, process: str, broken: str
) -> None:
    error = Captured("[STREAM_FAILED] Query [id = 1] terminated with exception:  SQLSTATE: XXKST")
    where = f"\tat java.base/java.io.DataInputStream.readInt(DataInputStream.java:386)\n\tat org.apache.spark.{runner}"
    error._stackTrace = f"org.apache.spark.StreamingQueryException\nCaused by: {broken}\n{where}(A.scala:1)"

    explained = explain_failure(error, PATHS)

    assert type(explained) is WorkerDiedError
    assert process in explained.message


def test_a_process_that_is_not_up_in_time_has_as_many_tries_as_what_nobody_knows_the_cause_of() -> None:
    text = "Job aborted.\norg.apache.spark.SparkException: Python worker failed to connect back."

    error = explain_failure(PySparkException(text), PATHS)

    assert type(error) is WorkerLateError
    assert cause_of(error) is Cause.UNKNOWN


@pytest.mark.parametrize(
    "named", ["CANNOT_LOAD_STATE_STORE.UNEXPECTED", "STREAMING_CHECKPOINT_MISSING_METADATA_FILE", "CHECKPOINT_FILE_X"]
)
def test_a_state_that_spark_cannot_read_is_called_so(named: str) -> None:
    error = explain_failure(PySparkException(f"[{named}] file /state/checkpoint/offsets/3 is gone"), PATHS)

    assert type(error) is UnreadableStateError
    assert "restore a savepoint" in (error.hint or "")


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        (
            '[CAST_OVERFLOW] The value 300L of the type "BIGINT" cannot be cast to "TINYINT" due to an overflow. '
            "Use `try_cast` to tolerate overflow and return NULL instead. SQLSTATE: 22003",
            OutOfRangeError,
            'The value 300L of the type "BIGINT" cannot be cast to "TINYINT" due to an overflow',
        ),
        ("[ARITHMETIC_OVERFLOW] long overflow. Use 'try_add' to", OutOfRangeError, "long overflow"),
        (
            "[USER_RAISED_EXCEPTION] not in the range of INT UNSIGNED, -1 SQLSTATE: P0001",
            OutOfRangeError,
            "not in the range of INT UNSIGNED, -1",
        ),
        (
            "[USER_RAISED_EXCEPTION] decode has no answer for x! SQLSTATE: P0001",
            InvalidValueError,
            "decode has no answer for x!",
        ),
        ("[DIVIDE_BY_ZERO] Division by zero. Use `try_divide` to", DivisionByZeroError, "Division by zero"),
        (
            '[CAST_INVALID_INPUT] The value \'x\' of the type "STRING" cannot be cast to "INT" because it is '
            "malformed. Correct the value as per the syntax",
            InvalidValueError,
            'The value \'x\' of the type "STRING" cannot be cast to "INT" because it is malformed',
        ),
    ],
)
def test_a_value_that_cannot_be_is_named_and_never_tried_again(text: str, kind: type[Exception], message: str) -> None:
    error = explain_failure(PySparkException(f"Job aborted.\n{text}\n\tat java.lang"), PATHS)

    assert type(error) is kind
    assert error.message == message
    assert not error.retryable


def test_anything_else_is_reported_by_its_innermost_cause() -> None:
    text = "Job aborted.\nCaused by: org.apache.spark.SparkException: one\nCaused by: java.io.IOException: disk full"

    error = explain_failure(PySparkException(text), PATHS)

    assert type(error) is EpochFailedError
    assert error.message == "java.io.IOException: disk full"
    assert "spark.log" in (error.hint or "")


S3A = "[STREAM_FAILED] Query terminated\nCaused by: org.apache.hadoop.fs.s3a."


@pytest.mark.parametrize(
    ("thrown", "kind"),
    [
        ("AWSStatus500Exception: PUT 0-object on s3a://b/j/0/0/7_a.changelog: Service Unavailable", "unavailable"),
        ("AWSClientIOException: PUT on s3a://b/j/0/0/7_a.changelog: Unable to execute HTTP request", "unavailable"),
        ("AWSBadRequestException: PUT on s3a://b/j: ExpiredToken: The provided token has expired", "unavailable"),
        ("UnknownStoreException: `s3a://b/j': Bucket does not exist: NoSuchBucket", "refused"),
        ("AWSBadRequestException: getFileStatus on s3a://b/j: InvalidAccessKeyId", "refused"),
    ],
)
def test_a_bucket_that_fails_is_named(thrown: str, kind: str) -> None:
    error = explain_failure(PySparkException(S3A + thrown), PATHS)

    assert type(error) is (StateBucketUnavailableError if kind == "unavailable" else StateBucketError)
    assert (cause_of(error) is Cause.OUTAGE) == (kind == "unavailable")
    assert thrown.partition(": ")[2] in error.message


def test_an_object_that_is_missing_is_a_fault_of_the_state() -> None:
    text = (
        "[CANNOT_LOAD_STATE_STORE.UNCATEGORIZED] An error occurred\n"
        "Caused by: java.io.FileNotFoundException: No such file or directory: s3a://b/j/0/0/7_a.changelog"
    )

    assert type(explain_failure(PySparkException(text), PATHS)) is UnreadableStateError
