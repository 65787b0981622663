"""`arroyo explain --cluster`: what a run asks of its cluster, and what it does otherwise there.

cluster
master     spark://10.0.0.5:7077
cores      4 in all
state      s3://bucket/jobs
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping

from engine.compile import Program
from engine.errors import EngineError, SettingError
from engine.spark.jvm.conf import ENVIRONMENT, SECRET, driver_address
from engine.values.cluster import ClusterSettings, has_other_disks, is_one_jvm, refuse_master, refuse_missing_files
from engine.values.run_settings import RunSettings, refuse_unreachable_state

_PORTS = ("driver_port", "block_manager_port", "mailbox_port")


def describe_cluster(settings: RunSettings, program: Program, parallelism: int, environ: Mapping[str, str]) -> str:
    """Return a description of what a run of the program needs from its cluster, without contacting it."""
    if settings.master is None or is_one_jvm(settings.master):
        where = settings.master or f"local[{parallelism}]"
        return f"cluster\n  none: the master is {where}; set master=spark://HOST:PORT for one\n"
    lines = [*_asked(settings, parallelism, environ), *_ways(settings, program), *_refused(settings, program)]
    width = max(len(name) for name, _ in lines)
    return "cluster\n" + "".join(f"  {name:<{width}}  {text}\n" for name, text in lines)


def _asked(settings: RunSettings, parallelism: int, environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    asked, master = settings.cluster, settings.master
    assert master is not None
    yield "master", master
    each = "" if asked.executor_cores is None else f", {asked.executor_cores} per executor"
    yield "cores", f"{asked.max_cores or parallelism} in all{each}"
    yield "memory", f"{asked.executor_memory} per executor, {settings.memory} for the driver"
    yield "Python", _python(asked)
    yield "engine", "one archive, which Spark unpacks for each executor"
    for jar in asked.jars:
        yield "jar", jar
    yield "driver", _driver(asked, master)
    chosen = [(name, getattr(asked, name)) for name in _PORTS]
    yield "ports", ", ".join(f"{name} {port or 'any free one'}" for name, port in chosen)
    has_secret = bool(environ.get(SECRET))
    yield (
        "security",
        "connections are authenticated and encrypted"
        if has_secret
        else f"connections are open: without {SECRET}, keep the network closed",
    )
    yield from asked.spark_conf.items()


def _python(asked: ClusterSettings) -> str:
    if asked.executor_archive is None:
        path = asked.executor_python or sys.executable
        return f"{path}, which must be on every executor"
    return f"{asked.executor_python or f'{ENVIRONMENT}/bin/python'}, from {asked.executor_archive}"


def _driver(asked: ClusterSettings, master: str) -> str:
    try:
        host, bind = driver_address(asked, master)
    except SettingError as error:
        return f"not known: {error.message}; {error.hint}"
    return f"executors connect to {host}" + ("" if bind == host else f"; it listens on {bind}")


def _ways(settings: RunSettings, program: Program) -> Iterator[tuple[str, str]]:
    """Yield how state and files are transferred, and the differences from a single machine."""
    is_apart = has_other_disks(settings.master, shared_disk=settings.shared_disk)
    if not program.operators:
        yield "state", "none: the query keeps no state"
    elif settings.cluster.state_url is not None:
        yield "state", settings.cluster.state_url
    else:
        yield "state", "not reachable" if is_apart else "the state directory, which all executors must see"
    yield "files", "from tasks to the driver's mailbox, over TLS" if is_apart else "the state directory"
    if program.is_for_one_task:
        yield "otherwise", "the epoch part runs as a Spark job, not in one task"
    yield "otherwise", "executors start each Python worker, instead of forking ready ones"


def _refused(settings: RunSettings, program: Program) -> Iterator[tuple[str, str]]:
    """Yield the reasons why a start would be refused."""
    checks: tuple[Callable[[], None], ...] = (
        lambda: refuse_master(settings.master),
        lambda: refuse_missing_files(settings.cluster),
        lambda: refuse_unreachable_state(settings, keeps_state=bool(program.operators)),
    )
    for check in checks:
        try:
            check()
        except EngineError as error:
            yield "refused", f"{error.code}: {error.message}; {error.hint}"
