"""Errors of runs, of what they need from the machine or the cluster, and of their settings."""

from __future__ import annotations

from engine.errors.base import EngineError


class RunError(EngineError):
    """A run fails for a reason outside the script."""

    code = "run.error"


class EpochFailedError(RunError):
    """An epoch fails inside Spark or a connector; the next start runs the very same epoch again."""

    code = "run.epoch_failed"
    retryable = True


class SumOverflowError(RunError):
    """A sum grows out of the range of its type."""

    code = "run.sum_overflow"


class MissingPackageError(RunError):
    """The requested feature needs a Python package that is not installed."""

    code = "run.missing_package"


class MissingJarsError(RunError):
    """The Java archives by which Spark reads and writes S3 are not installed."""

    code = "run.missing_jars"


class JarsError(RunError):
    """The Java archives for S3 cannot be fetched, or are not the ones that are pinned."""

    code = "run.jars"


class PluginError(RunError):
    """A connector of another package cannot be used."""

    code = "run.plugin"


class SecretNotFoundError(RunError):
    """An option refers to a secret or a variable that is not set where the job starts."""

    code = "run.no_secret"


class AddressRefusedError(RunError):
    """A script would reach an address that belongs to this machine or its network only."""

    code = "run.address_refused"


class NoJavaError(RunError):
    """Spark needs Java, and there is none that is new enough."""

    code = "run.no_java"


class JavaStartError(RunError):
    """Java or Spark does not start."""

    code = "run.java_start"
    retryable = True


class DiskNotSharedError(RunError):
    """An executor does not see the directory of the state, or the driver does not see what an executor writes there."""

    code = "run.disk_not_shared"


class MissingNoteError(RunError):
    """A task has read a part of a table, and what it has noted of that is not there: the watermark would be wrong. The
    epoch is not committed."""

    code = "run.missing_note"
    retryable = True


class MailboxUnreachableError(RunError):
    """A task on another machine cannot hand a file to the driver. The epoch is not committed."""

    code = "run.mailbox_unreachable"
    retryable = True


class MailboxRefusedError(RunError):
    """The driver does not take a file from a task: the task belongs to another run, or the file is none that tasks
    write."""

    code = "run.mailbox_refused"
    retryable = True


class NoExecutorsError(RunError):
    """No executor of a cluster is up in time, all have been gone for minutes, or one cannot run our tasks."""

    code = "run.no_executors"
    retryable = True


class ExecutorUnfitError(RunError):
    """An executor cannot run the tasks of a pipeline: its Python or its packages differ from what the driver needs, or
    it does not reach the driver."""

    code = "run.executor_unfit"


class JvmDiedError(RunError):
    """The Java process of a driver ends while it is needed."""

    code = "run.jvm_died"
    retryable = True


class SharedJavaDiedError(RunError):
    """The Java process that a pipeline shares with others ends while it is needed. Each of them starts again."""

    code = "run.shared_java_died"
    retryable = True
    is_outage = True


class WorkerDiedError(RunError):
    """A Python process of Spark's ends while it is needed."""

    code = "run.worker_died"
    retryable = True


class WorkerLateError(RunError):
    """A Python process of Spark's is not up in time: the machine has too much to do, or it never will be."""

    code = "run.worker_late"
    retryable = True


class StateBusyError(RunError):
    """Another process works on the state of a pipeline for too long."""

    code = "run.state_busy"
    retryable = True


class DriverCrashedError(RunError):
    """A driver meets an unexpected error."""

    code = "run.crashed"
    retryable = True


class DriverDiedError(RunError):
    """A driver ends without saying why."""

    code = "run.died"
    retryable = True


class DriverSilentError(RunError):
    """A driver has not reported to the control plane for too long, and is killed."""

    code = "run.silent"
    retryable = True


class SlowStartError(RunError):
    """A step of a driver's start takes too long, and the driver is killed."""

    code = "run.slow_start"
    retryable = True


class MaintenanceStuckError(RunError):
    """A restore or a rescale makes no progress, and is ended."""

    code = "run.maintenance_stuck"
    retryable = True


class DriverStuckError(RunError):
    """A driver reports, but its work makes no progress, and it is killed."""

    code = "run.stuck"
    retryable = True


class RehearsalFailedError(RunError):
    """A query fails while a change is rehearsed; the pipeline that runs is not touched by it."""

    code = "run.rehearsal_failed"


class StoppedUnaskedError(RunError):
    """A driver stops without being asked to."""

    code = "run.stopped"
    retryable = True


class SettingError(EngineError):
    """A setting is unknown or has a value that it cannot have; nothing has started."""

    code = "setting.invalid"


class NoStateUrlError(SettingError):
    """The query keeps state, and executors of its cluster see another disk than the driver; nothing has started."""

    code = "setting.no_state_url"


class RetentionError(EngineError):
    """A rule of what savepoints are kept, or when they are taken, makes no sense."""

    code = "setting.savepoint_rule"
