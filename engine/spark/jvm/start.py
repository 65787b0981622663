"""Start the JVM of a driver directly, without Spark's launcher scripts.

The scripts cost a shell and a second JVM, and print on the terminal. A JVM that is started here ends with this process,
even if this process is killed: the JVM reads its standard input, a pipe that only we hold open, and exits when the pipe
closes.

A driver has one or two tasks and a small heap, and does a little work several times a second, for days. Java's
defaults suit the opposite: they compile early and aggressively, and collect garbage in several parallel threads.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from engine.errors import EngineError, JavaStartError, JvmDiedError
from engine.spark.jvm.class_archive import Archive
from engine.spark.jvm.java import Java
from engine.spark.jvm.local_files import ARCHIVE
from engine.spark.jvm.s3_jars import has_s3_jars, s3_folder
from engine.values.process_endings import count_memory_kills, describe_ending, starting_process

START_DEADLINE = timedelta(seconds=120)
"""Longest wait for a JVM to start. On an overloaded machine with two cores the slowest took 40 s."""

EXIT_DEADLINE = timedelta(seconds=20)

DEATH_PATIENCE = timedelta(seconds=5)
"""Longest wait between a broken connection and the end of the process."""

_leaving: list[subprocess.Popen[bytes]] = []
"""JVMs that are exiting. Without a reference Python would warn about them."""

_LOOK_AGAIN = 0.02
_TAIL_BYTES = 4_000
_KILLED = (
    "it was killed by a user, or by the kernel because memory ran out: give the machine or container more "
    "memory, or the pipeline less; the whole log is in {log}"
)
_FIRST_ERROR = re.compile(r"^\S+ (ERROR|FATAL) .*", re.MULTILINE | re.DOTALL)
"""The first line in Spark's log with an error, and all lines after it."""
_OUT_OF_MEMORY = "java.lang.OutOfMemoryError"
_TRACEBACK = re.compile(
    r"^Traceback \(most recent call last\):\n(?:[ \t].*\n|\n)*(?:\S.*(?:\n|\Z))?"
    r"(?:\n(?:During handling of|The above exception was).*\n\n)?",
    re.MULTILINE,
)
"""Tracebacks of Python workers, which write to the same file, for example when their JVM is gone."""

_OPENED = (
    "java.lang", "java.lang.invoke", "java.lang.reflect", "java.io", "java.net", "java.nio", "java.util",
    "java.util.concurrent", "java.util.concurrent.atomic", "jdk.internal.ref", "sun.nio.ch", "sun.nio.cs",
    "sun.util.calendar",
)  # fmt: skip
"""Spark's own list (JavaModuleOptions), without `jdk.incubator.vector`: it warns, and small Java runtimes lack it."""


@dataclass(frozen=True, slots=True)
class JvmLog:
    """Log files of a JVM. Earlier JVMs have written to the same files; `begin` and `noise_begin` are where this one
    starts."""

    path: Path
    begin: int
    noise_begin: int
    memory_kills: int
    """Number of processes that the kernel had killed for lack of memory when this JVM was started."""

    @staticmethod
    def of(path: Path) -> JvmLog:
        """Return the log of a JVM that is about to start."""
        return JvmLog(path, _size(path), _size(noise_of(path)), count_memory_kills())

    def log_tail(self) -> str:
        """Return the end of the JVM's output, outside of its logger or else in its log, where warnings do not explain
        an end. Tracebacks of Python workers are left out."""
        words = _TRACEBACK.sub("", _end_of(noise_of(self.path), self.noise_begin)).strip()
        if not words:
            errors = _FIRST_ERROR.search(_end_of(self.path, self.begin))
            words = errors[0] if errors else ""
        return words or "it said nothing"


@dataclass(frozen=True, slots=True)
class Gateway:
    """A running JVM and its connection details."""

    port: int
    secret: str = field(repr=False)
    process: subprocess.Popen[bytes] = field(repr=False)
    is_archiving: bool = False
    """Whether the JVM writes the class archive when it exits, which takes ten more seconds. Do not wait for them."""
    log: JvmLog | None = None

    @property
    def is_alive(self) -> bool:
        """Whether the JVM was not seen to end."""
        return self.process.poll() is None

    def death(self) -> EngineError | None:
        """Return why the JVM has died, if its connection is lost; None if it lives."""
        return death_of(self)


@dataclass(frozen=True, slots=True)
class StartedJvm:
    """A JVM that has been started but may not accept connections yet."""

    process: subprocess.Popen[bytes]
    handshake: Path
    log: JvmLog
    is_archiving: bool


def spark_home() -> Path:
    """Return the folder of the installed pyspark without importing it."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None or not (home := Path(spec.origin).parent).joinpath("jars").is_dir():
        raise JavaStartError(
            "Spark is not installed here, or only its client is",
            hint="pip install 'airflow-provider-arroyo[engine]'",
        )
    return home


def start_gateway(
    java: Java, conf: Mapping[str, str], *, memory: str, quick: bool, log_file: Path, archive: Archive | None = None
) -> Gateway:
    """Start a JVM with Spark's configuration and wait until it answers."""
    return wait_until_ready(launch(java, conf, memory=memory, quick=quick, log_file=log_file, archive=archive))


def launch(
    java: Java,
    conf: Mapping[str, str],
    *,
    memory: str,
    quick: bool,
    log_file: Path,
    archive: Archive | None = None,
    is_shared: bool = False,
    folder: Path | None = None,
) -> StartedJvm:
    """Start a JVM and return immediately. `quick` trades peak speed for a start-up with a third of the work; an archive
    of loaded classes is used, or written when this JVM ends. A JVM that several drivers share keeps a log for each. It
    runs in `folder`, by default in the directory of this process."""
    home = spark_home()
    log_file.parent.mkdir(parents=True, exist_ok=True)
    handshake = Path(tempfile.mkdtemp(prefix="arroyo-jvm-"))
    properties = handshake / "spark.properties"
    properties.write_text("".join(f"{key} {_escape(value)}\n" for key, value in conf.items()))
    command: list[str] = [
        str(java.path),
        *_options(java, master=conf.get("spark.master", ""), memory=memory, quick=quick),
        *_logging_options(log_file, is_shared=is_shared),
        *(archive.options() if archive else ()),
        "-cp", class_path(home),
        "org.apache.spark.deploy.SparkSubmit", "--properties-file", str(properties), "pyspark-shell",
    ]  # fmt: skip
    env = {
        **environment_of_processes(),
        "SPARK_CONNECT_MODE": "0",
        "_PYSPARK_DRIVER_CONN_INFO_PATH": str(handshake / "connection"),
        # Spark runs this command, if there is one, to look for data sources in installed packages: 0.3 s for nothing
        "PYSPARK_DRIVER_PYTHON": "no-python-to-look-for-data-sources",
    }
    log = JvmLog.of(log_file)
    with noise_of(log_file).open("ab") as noise, starting_process():
        process = subprocess.Popen(
            command, env=env, stdin=subprocess.PIPE, stdout=noise, stderr=noise,
            start_new_session=True,  # Ctrl-C on the terminal is for us to answer, not for the JVM
            cwd=folder,
            pass_fds=archive.inherited() if archive else (),
        )  # fmt: skip
    if archive:
        archive.handed_over()
    return StartedJvm(process, handshake, log, is_archiving=archive is not None and archive.lock is not None)


def class_path(home: Path) -> str:
    """Return the class path of a JVM: our classes, Spark's, and those for S3 if they are installed."""
    return ":".join((str(ARCHIVE), *(f"{folder}/*" for folder in folders_of_jars(home))))


def folders_of_jars(home: Path) -> tuple[Path, ...]:
    """Return the folders with the archives of a JVM: those of Spark, and those for S3 if they are installed."""
    s3 = (s3_folder(os.environ),) if has_s3_jars(os.environ) else ()
    return home / "jars", *s3


def environment_of_processes() -> dict[str, str]:
    """Return the environment of a JVM and of its Python processes, without the variables that only the JVM gets."""
    # with SPARK_HOME set, every Python process of Spark's would import pyspark from its zip: 0.5 s of compiling
    env = {key: value for key, value in os.environ.items() if not key.startswith("PYSPARK_") and key != "SPARK_HOME"}
    # pydantic need not look for plug-ins among the installed packages either
    return env | {"PYDANTIC_DISABLE_PLUGINS": "__all__"}


def wait_until_ready(started: StartedJvm, deadline: timedelta = START_DEADLINE) -> Gateway:
    """Wait until the JVM has reported its port; if it ends or is too slow, raise an error with the end of its
    output."""
    connection = started.handshake / "connection"
    give_up = time.monotonic() + deadline.total_seconds()
    try:
        while not connection.exists():
            if (code := started.process.poll()) is not None:
                _end(started.process, timedelta(0))
                raise JavaStartError(
                    f"Java {_ending(code, started.log)} before Spark was up: {started.log.log_tail()}",
                    hint=f"the whole log is in {started.log.path}",
                )
            if time.monotonic() > give_up:
                _end(started.process, timedelta(0))
                raise JavaStartError(
                    f"Java was not up after {deadline.total_seconds():.0f} s: {started.log.log_tail()}",
                    hint=f"the machine may be overloaded; the whole log is in {started.log.path}",
                )
            time.sleep(_LOOK_AGAIN)
        port, secret = _read_connection(connection)
        return Gateway(port, secret, started.process, started.is_archiving, started.log)
    finally:
        shutil.rmtree(started.handshake, ignore_errors=True)


def _end_of(path: Path, begin: int) -> str:
    """Return the end of a file, of what follows its first bytes; empty if there is none."""
    try:
        with path.open("rb") as file:
            file.seek(max(begin, _size(path) - _TAIL_BYTES))
            return file.read().decode(errors="replace").strip()
    except OSError:
        return ""


def stop(gateway: Gateway, deadline: timedelta = EXIT_DEADLINE) -> None:
    """Stop a JVM: close its input, and kill it if it has not ended by the deadline. A JVM that writes the class archive
    may finish that."""
    if gateway.is_archiving and gateway.process.stdin:
        gateway.process.stdin.close()
        _leaving.append(gateway.process)
    else:
        _end(gateway.process, deadline)


def death_of(gateway: Gateway, patience: timedelta = DEATH_PATIENCE) -> JvmDiedError | None:
    """Return why a JVM with a lost connection has died; None if it lives."""
    try:
        code = gateway.process.wait(patience.total_seconds())
    except subprocess.TimeoutExpired:
        return None
    if gateway.process.stdin:
        gateway.process.stdin.close()
    log = gateway.log
    if log is None:
        return JvmDiedError(f"the JVM {describe_ending(code, 0)}")
    if code == -signal.SIGKILL:
        # it had no time to speak: what is in its log is of others, or of earlier
        return JvmDiedError(f"the JVM {_ending(code, log)} while the pipeline ran", hint=_KILLED.format(log=log.path))
    words = log.log_tail()
    shortage = next((line.strip() for line in words.splitlines() if _OUT_OF_MEMORY in line), None)
    if shortage is not None:
        return JvmDiedError(
            f"the JVM ended because its memory was full: {shortage}",
            hint=f"give it more memory, for example --set memory=4g; the whole log is in {log.path}",
        )
    return JvmDiedError(
        f"the JVM {_ending(code, log)} while the pipeline ran; its last words: {words}",
        hint=f"the whole log is in {log.path}",
    )


def _ending(code: int, log: JvmLog) -> str:
    return describe_ending(code, count_memory_kills() - log.memory_kills)


def _end(process: subprocess.Popen[bytes], deadline: timedelta) -> None:
    if process.stdin:
        process.stdin.close()
    try:
        process.wait(deadline.total_seconds())
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _options(java: Java, *, master: str, memory: str, quick: bool) -> Sequence[str]:
    opened = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED]
    older = ["--add-opens=java.base/sun.security.action=ALL-UNNAMED"] if java.major < 24 else []
    newer = ["--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow"] if java.major >= 23 else []
    return [
        "-XX:+IgnoreUnrecognizedVMOptions",
        *opened, *older, *newer,
        "-Djdk.reflect.useDirectMethodHandle=false",
        "-Dio.netty.tryReflectionSetAccessible=true",
        "-Dio.netty.allocator.type=pooled",
        "-Dio.netty.handler.ssl.defaultEndpointVerificationAlgorithm=NONE",
        f"-Xmx{memory}",
        # half of a JVM is worse than none: it answers, and its threads are gone
        "-XX:+ExitOnOutOfMemoryError",
        # figures for tools that are not used here, sampled twenty times a second
        "-XX:-UsePerfData",
        *economy_options(master=master, memory=memory, quick=quick),
    ]  # fmt: skip


def _logging_options(log_file: Path, *, is_shared: bool) -> Sequence[str]:
    file = Path(__file__).with_name("log4j2-shared.properties" if is_shared else "log4j2.properties")
    options = [f"-Dlog4j2.configurationFile={file.as_uri()}", f"-Dengine.log.file={log_file}"]
    # threads inherit the pipeline of the thread that starts them
    return [*options, "-Dlog4j2.isThreadContextMapInheritable=true"] if is_shared else options


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n")


def noise_of(log_file: Path) -> Path:
    """Return the file of output that bypasses the logger: the JVM's own errors and the standard error of Python
    workers."""
    return log_file.with_name(log_file.name + ".stderr")


def _read_connection(path: Path) -> tuple[int, str]:
    raw = path.read_bytes()
    port, length = struct.unpack_from("!ii", raw)
    return port, raw[8 : 8 + length].decode()


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


_TASKS = re.compile(r"local(?:\[(\d+)(?:,\s*\d+)?\])?")
_MEMORY = re.compile(r"(\d+)([kmgt]?)", re.IGNORECASE)
_BYTES = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_MOST_TASKS = 2
_MOST_BYTES = 4 * 2**30
"""Largest heap for one garbage collector thread, which scans it in a second or two. A larger heap gets Java's
default."""

_LATE = ("Invocation", 50_000), ("MinInvocation", 6_000), ("Compile", 150_000), ("BackEdge", 400_000)
"""Ten times Java's default call and loop counts before the optimising compiler compiles a method. Methods that process
rows reach them within seconds; methods that run a few times per epoch reach them late or never."""
_RARE = ("Invocation", 2_000), ("MinInvocation", 1_000), ("Compile", 20_000), ("BackEdge", 600_000)
"""Counts before the profiling compiler (C1) compiles a method. Most methods that a start calls a few hundred times are
not called again."""


def economy_options(*, master: str, memory: str, quick: bool) -> Sequence[str]:
    """Return the options of a JVM with that Spark master, and with this much heap."""
    if quick:
        return ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
    late = [
        f"-XX:Tier{tier}{name}Threshold={count}" for tier, kinds in ((3, _RARE), (4, _LATE)) for name, count in kinds
    ]
    return [*late, "-XX:+UseSerialGC"] if _is_small(master, memory) else late


def _is_small(master: str, memory: str) -> bool:
    tasks, amount = _TASKS.fullmatch(master), _MEMORY.fullmatch(memory)
    if tasks is None or amount is None:
        return False
    return int(tasks[1] or 1) <= _MOST_TASKS and int(amount[1]) * _BYTES[amount[2].lower()] <= _MOST_BYTES
