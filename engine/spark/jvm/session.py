"""Open and close the Spark session of a driver process.

Its JVM is the driver's own, or one that several drivers share (see `engine/driver/shared/`).
"""

from __future__ import annotations

import importlib
import os
import shutil
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Protocol, TypeAlias

from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from engine.errors import (
    DriverCrashedError,
    EngineError,
    EpochFailedError,
    JavaStartError,
    NoExecutorsError,
    WorkerDiedError,
    message_of,
)
from engine.spark.jvm import start as java_process
from engine.spark.jvm.class_archive import cache_dir, find_archive
from engine.spark.jvm.conf import PYTHON, SECRET, ClusterLaunch, cluster_conf, driver_conf
from engine.spark.jvm.executor_archives import engine_archive
from engine.spark.jvm.java import find_java
from engine.spark.jvm.py4j_garbage import Garbage
from engine.spark.workers.fork_start import ForkServer, start_server, write_program
from engine.values.cluster import is_one_jvm

_GATEWAY_PORT = "PYSPARK_GATEWAY_PORT"
_VECTOR_MODULE = "--add-modules=jdk.incubator.vector"
_GATEWAY_SECRET = "PYSPARK_GATEWAY_SECRET"  # noqa: S105 - the name of a variable


Session: TypeAlias = SparkSession
"""Type of a session for code that only passes it on and does not import Spark."""


class SharedJava(Protocol):
    """A shared JVM, as a driver in it sees it."""

    @property
    def is_alive(self) -> bool:
        """Whether the JVM was not seen to end."""

    def death(self) -> EngineError | None:
        """Return why the JVM has died, if its connection is lost; None if it lives."""

    def leave(self) -> None:
        """End all work of this process in the JVM: from then on the JVM touches no file of its state."""


def open_session(
    *,
    app_name: str,
    log_dir: Path,
    master: str = "local[*]",
    parallelism: int = 1,
    memory: str = "2g",
    quick: bool = False,
    makes_archive: bool = True,
    extra_conf: Mapping[str, str] | None = None,
    is_shared: bool = False,
    cluster: ClusterLaunch | None = None,
) -> SparkSession:
    """Start the JVM and Spark; a process has at most one session. `quick` is for short runs: it starts sooner, and its
    peak speed is lower. Spark's log goes to `log_dir`, nothing to the terminal. With `makes_archive` the first session
    of an environment writes an archive that speeds up later starts; only a streaming session should. If drivers share
    the JVM, each has a log of its own."""
    log_dir = log_dir.absolute()
    scratch = log_dir / f"scratch-{os.getpid()}"
    scratch.mkdir(parents=True, exist_ok=True)
    extra = {**_archives(os.environ), **(extra_conf or {})}
    more = {} if cluster is None else _cluster_conf(cluster, master, parallelism, scratch)
    conf = driver_conf(
        app_name=app_name, master=master, parallelism=parallelism, scratch=scratch, extra=extra, cluster=more
    )
    java, home = find_java(os.environ), java_process.spark_home()
    os.environ["SPARK_HOME"] = str(home)
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    archive = find_archive(java, java_process.folders_of_jars(home), cache_dir(os.environ), makes=makes_archive)
    started = java_process.launch(
        java,
        conf,
        memory=memory,
        quick=quick,
        log_file=log_dir / "spark.log",
        archive=archive,
        is_shared=is_shared,
        folder=None if cluster is None else scratch,
    )
    noise, env = java_process.noise_of(log_dir / "spark.log"), java_process.environment_of_processes()
    forks = start_server(scratch, env, noise) if is_one_jvm(master) or cluster is not None else None
    os.environ["PYSPARK_PYTHON"] = sys.executable if forks is None else str(forks.python)
    if cluster is not None:
        os.environ["PYSPARK_PYTHON"] = write_program(scratch / PYTHON, os.environ["PYSPARK_PYTHON"], scratch)
    try:
        import_what_spark_will()
        gateway = java_process.wait_until_ready(started)
    except BaseException:
        _stop(forks)
        raise
    try:
        return _attach(gateway, forks, any_java=cluster is not None)
    except BaseException as error:
        # asked for while there is a connection: the text of Java's exceptions stays in Java
        reason = error.java_exception.getMessage() if isinstance(error, Py4JJavaError) else None
        _detach()
        death = java_process.death_of(gateway, timedelta(seconds=1)) if isinstance(error, Exception) else None
        java_process.stop(gateway)
        _stop(forks)
        if death is not None:
            raise death from error
        if reason is not None and cluster is not None and "stopped SparkContext" in reason:
            raise NoExecutorsError(
                f"the master {master} does not answer, or has removed the application",
                hint="check its address, that it reaches this machine, and that it has the secret in "
                f"{SECRET}, or none if that is not set; the whole log is in {log_dir / 'spark.log'}",
            ) from error
        if reason is not None:
            hint = f"the whole log is in {log_dir / 'spark.log'}"
            raise JavaStartError(f"Spark does not start: {reason}", hint=hint) from error
        raise


def _cluster_conf(cluster: ClusterLaunch, master: str, parallelism: int, scratch: Path) -> Mapping[str, str]:
    try:
        engine = engine_archive(cache_dir(os.environ))
    except OSError:
        engine = engine_archive(scratch)  # caches may lie where nothing can be written
    return cluster_conf(cluster, master=master, parallelism=parallelism, engine=engine, environ=os.environ)


def _archives(environ: Mapping[str, str]) -> Mapping[str, str]:
    """Return the setting for the Java archives of `ARROYO_JARS`."""
    named = environ.get("ARROYO_JARS", "").strip()
    return {"spark.jars": named} if named else {}


def close_session(spark: SparkSession) -> None:
    """Stop Spark and end its JVM. Another session can be opened afterwards."""
    gateway, forks = gateway_of_session(), _forks_of_session()
    if gateway.process.poll() is not None:
        _detach()
        java_process.stop(gateway)
        _stop(forks)
        return
    scratch = Path(spark.sparkContext.getConf().get("spark.local.dir") or "")
    try:
        spark.stop()
    finally:
        _detach()
        java_process.stop(gateway)
        _stop(forks)
    if scratch.name.startswith("scratch-"):
        shutil.rmtree(scratch, ignore_errors=True)


def scratch_on_this_machine(spark: SparkSession) -> Path | None:
    """Return the directory for files that live as long as the session, if all tasks see it."""
    settings = spark.sparkContext.getConf()
    scratch = settings.get("spark.local.dir") if (settings.get("spark.master") or "").startswith("local[") else None
    return None if scratch is None else Path(scratch)


@contextmanager
def closing_session(spark: SparkSession) -> Iterator[SparkSession]:
    """Close the session at the end of the context."""
    try:
        yield spark
    finally:
        close_session(spark)


def leave_state(spark: SparkSession) -> None:
    """Have Spark close the state of all queries that have ended: from then on it touches none of their files."""
    java = _java_of_session()
    if not isinstance(java, java_process.Gateway):
        java.leave()
        return
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    with suppress(Py4JError, OSError):  # a Java that has ended holds nothing
        jvm.org.apache.spark.sql.execution.streaming.state.StateStore.stop()


def gateway_of_session() -> java_process.Gateway:
    """Return the gateway to the JVM of this process's own session."""
    gateway: java_process.Gateway = SparkContext._gateway.engine_gateway  # type: ignore[union-attr] # set by `_attach`
    return gateway


def set_gateway_of_session(gateway: java_process.Gateway) -> None:
    """Replace what is known of that JVM."""
    SparkContext._gateway.engine_gateway = gateway  # type: ignore[union-attr] # set by `_attach`


def _java_of_session() -> java_process.Gateway | SharedJava:
    """Return the JVM of this process's session, its own or a shared one."""
    java: java_process.Gateway | SharedJava = SparkContext._gateway.engine_gateway  # type: ignore[union-attr] # set by `_attach`
    return java


def import_what_spark_will() -> None:
    """Import numpy while the JVM is still starting, since pyspark's first call imports it from this module. The module
    also looks for pandas, only for Spark's own tests; hiding pandas saves 0.3 s."""
    hidden = "pandas" not in sys.modules
    if hidden:
        sys.modules["pandas"] = None  # type: ignore[assignment]  # Python's sign that there is none
    try:
        importlib.import_module("pyspark.testing.utils")
    finally:
        if hidden:
            del sys.modules["pandas"]


def _forks_of_session() -> ForkServer | None:
    forks: ForkServer | None = SparkContext._gateway.engine_forks  # type: ignore[union-attr] # set by `_attach`
    return forks


def _stop(forks: ForkServer | None) -> None:
    if forks is not None:
        forks.stop()


def _attach(gateway: java_process.Gateway, forks: ForkServer | None, *, any_java: bool) -> SparkSession:
    _connect(gateway.port, gateway.secret, gateway)
    if any_java:
        _accept_any_java()
    SparkContext._gateway.engine_forks = forks  # type: ignore[union-attr]
    with _keep_interrupt():
        return SparkSession.builder.getOrCreate()


def _accept_any_java() -> None:
    """Let Spark start executors without the module `jdk.incubator.vector`, which small Java runtimes lack: they would
    not start, and nothing that we compute uses it."""
    jvm = SparkContext._jvm
    assert jvm is not None
    declared = jvm.java.lang.Class.forName("org.apache.spark.launcher.JavaModuleOptions").getDeclaredField(
        "DEFAULT_MODULE_OPTIONS"
    )
    declared.setAccessible(True)
    options = declared.get(None)
    for index, option in enumerate(list(options)):
        if option == _VECTOR_MODULE:
            options[index] = "-XX:+IgnoreUnrecognizedVMOptions"


def _connect(port: int, secret: str, java: java_process.Gateway | SharedJava) -> None:
    os.environ[_GATEWAY_PORT], os.environ[_GATEWAY_SECRET] = str(port), secret
    try:
        SparkContext._ensure_initialized()
    finally:
        del os.environ[_GATEWAY_PORT], os.environ[_GATEWAY_SECRET]  # they are of no use to our children
    SparkContext._gateway.engine_gateway = java  # type: ignore[union-attr]
    _mute_query_contexts()
    SparkContext._gateway.engine_garbage = Garbage(SparkContext._gateway._gateway_client)  # type: ignore[union-attr]


def _mute_query_contexts() -> None:
    """Stop pyspark from printing an error with the whole stack of the JVM, besides raising it."""
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).disabled = True


def join_session(port: int, secret: str, python: str, java: SharedJava, environment: Mapping[str, str]) -> SparkSession:
    """Return a session in the JVM of a host, which has a gateway for this process. It forks its workers from `python`,
    with this environment added, and shares them only among sessions with the same one."""
    os.environ["SPARK_HOME"] = str(java_process.spark_home())
    os.environ["PYSPARK_PYTHON"] = python
    import_what_spark_will()
    _connect(port, secret, java)
    jvm = SparkContext._jvm
    assert jvm is not None
    # what the thread has that obeys this process in Java: see Tenant.java
    session = jvm.org.apache.spark.sql.classic.SparkSession.getActiveSession().get()
    context = jvm.JavaSparkContext.fromSparkContext(session.sparkContext())
    with _keep_interrupt():
        spark = SparkSession(SparkContext(jsc=context, conf=SparkConf(_jconf=context.getConf())), session)
    spark.sparkContext.environment.update(environment)
    jvm.arroyo.Tenant.keepDefault()
    return spark


def leave_session() -> None:
    """Forget the JVM of a host."""
    _detach()
    SparkContext._active_spark_context = None


@contextmanager
def _keep_interrupt() -> Iterator[None]:
    """Restore the handler of Ctrl-C, which Spark's context replaces in the main thread."""
    answers = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, answers)


def _detach() -> None:
    """Forget the gateway, so that the next session gets its own JVM."""
    if SparkContext._gateway is not None:
        if garbage := getattr(SparkContext._gateway, "engine_garbage", None):
            garbage.end()
        SparkContext._gateway.shutdown()
    SparkContext._gateway = SparkContext._jvm = None


@contextmanager
def death_explained() -> Iterator[None]:
    """Turn errors that the end of the JVM causes into the error that explains this end. The cause shows in many ways: a
    refused connection, an empty answer, a query that is not active, or an error of Spark's from a JVM that was asked to
    end. If the JVM lives, such an error is explained while the JVM can still return its text."""
    java = _java_of_session()
    try:
        yield
    except (PySparkException, Py4JError, OSError, EpochFailedError, WorkerDiedError) as error:
        text = message_of(error)
        is_lost = isinstance(error, Py4JNetworkError | OSError | PySparkException)
        death = java.death() if is_lost or not java.is_alive else None
        if death is not None:
            raise death from error
        if isinstance(error, PySparkException):
            first = text.splitlines()[0][:500]
            raise DriverCrashedError(
                f"{type(error).__name__}: {first}", hint="Spark's log has the whole text"
            ) from error
        raise
