"""Settings of a run on a Spark cluster: where the driver is reached, what executors get, and where state is kept.

    arroyo run q.sql --state-dir DIR --set master=spark://host:7077 --set state_url=s3://bucket/prefix

See docs/how-to/spark-cluster.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """What a run asks of a cluster. Each field is a run setting of the same name; all have defaults, so that `master`
    and `state_url` are enough."""

    state_url: str | None = None
    """Where the state of operators is kept, such as `s3://bucket/prefix`. The rest of the state directory stays on the
    driver's disk."""
    driver_host: str | None = None
    """The name or address at which executors reach the driver; without one, the address that leads to the master."""
    driver_bind_address: str | None = None
    """The address on which the driver listens; without one, that of `driver_host`."""
    driver_port: int = 0
    block_manager_port: int = 0
    mailbox_port: int = 0
    """The ports on which the driver listens for executors; 0 lets the system choose."""
    executor_memory: str = "1g"
    executor_cores: int | None = None
    """Cores of one executor; without a number, what the cluster manager gives."""
    max_cores: int | None = None
    """Cores of all executors together; without a number, as many as the pipeline's parallelism."""
    executor_python: str | None = None
    """The Python of the executors: a path on each of them, or one inside `executor_archive`."""
    executor_archive: str | None = None
    """An archive of a Python environment that Spark unpacks on each executor, made by `arroyo package`."""
    jars: tuple[str, ...] = ()
    """Further Java archives for driver and executors."""
    spark_conf: Mapping[str, str] = field(default_factory=dict)
    """Further settings of Spark, from the allowed ones."""
