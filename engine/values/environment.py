"""Environment variables besides those of the settings (`ARROYO__SECTION__KEY`)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Variable:
    """An environment variable; a name that ends in `_` is a prefix."""

    name: str
    read_by: str
    meaning: str


VARIABLES: tuple[Variable, ...] = (
    Variable("ARROYO_HOME", "`arroyo serve` and its clients", "The setting `data_dir`, under a shorter name."),
    Variable("ARROYO_URL", "the commands that ask a control plane", "Its address, when `--url` is left out."),
    Variable("ARROYO_TOKEN", "the commands that ask a control plane", "Its token, when `--token` is left out."),
    Variable(
        "ARROYO_TO_TOKEN", "`arroyo move`", "The token of the other control plane, when `--to-token` is left out."
    ),
    Variable(
        "ARROYO_SECRETS_KEY",
        "the control plane",
        "What the secrets of pipelines are sealed with, instead of the file `secrets.key` of the data directory: a key "
        "of Fernet's, or several separated by commas; the first one seals.",
    ),
    Variable(
        "ARROYO_SECRET_",
        "drivers, and the control plane where it pushes",
        "`ARROYO_SECRET_NAME` is what `{{ secret:NAME }}` in an option stands for, unless the pipeline was deployed "
        "with a secret of that name. Only drivers whose script names the secret inherit it.",
    ),
    Variable(
        "ARROYO_SECRETS_DIR",
        "drivers, and the control plane where it pushes",
        "A directory with a file for each secret that has no variable of its own.",
    ),
    Variable(
        "ARROYO_VAR_",
        "drivers",
        "`{{ ARROYO_VAR_NAME }}` in an option stands for the variable of this name; other variables cannot be read.",
    ),
    Variable(
        "ARROYO_NET_ALLOW",
        "drivers, and the control plane where it pushes",
        "Hosts, addresses and networks that are not public and that pipelines, and pushes of partitions, may reach all "
        "the same, separated by commas.",
    ),
    Variable(
        "ARROYO_STATE_LEASE",
        "`arroyo run` with a `--state-dir` in a bucket",
        "Seconds after which a run that does not renew its lease may be replaced by another one; 30 by default.",
    ),
    Variable(
        "ARROYO_JARS",
        "drivers",
        "Java archives that Spark loads, separated by commas; `source.reader = 'jvm'` needs those of Spark's Kafka "
        "source.",
    ),
    Variable(
        "ARROYO_SPARK_SECRET",
        "drivers on a Spark cluster",
        "The secret of the cluster, `spark.authenticate.secret` of its master and workers. With it, all connections "
        "of Spark are authenticated and encrypted. A master without a secret refuses a driver that has one.",
    ),
    Variable(
        "ARROYO_EXECUTOR_PYTHON",
        "what starts Python on executors of a cluster",
        "The Python of the executors. Set by the driver for its executors, never by hand: see the setting "
        "`executor_python`.",
    ),
    Variable(
        "ARROYO_CACHE",
        "drivers",
        "Where the archive of Spark's classes is kept, which halves the time to start; `arroyo` in the user's cache "
        "directory by default. Deleting it is always safe. What `arroyo run --warm` leaves is found there, too, and "
        "without the variable below `XDG_RUNTIME_DIR`, where there is one.",
    ),
    Variable(
        "ARROYO_RUN",
        "the control plane",
        "The name of the run that a process belongs to. Set by the control plane for its drivers, never by hand.",
    ),
    Variable(
        "ARROYO_MAILBOX",
        "the tasks of executors that see another disk than the driver",
        "Where the driver takes their files. Set by the driver for its executors, never by hand.",
    ),
    Variable(
        "ARROYO_MAILBOX_TOKEN",
        "the tasks of executors that see another disk than the driver",
        "Their password. A new one is created for each run.",
    ),
    Variable(
        "ARROYO_FAULT",
        "control planes and drivers under test",
        "A point at which the process kills itself, as `point[:detail[:stop]]`; or `>` and a file that gets all points "
        "that are reached; or `@` and a file that says one of both. Needs `ARROYO_FAULTS_ALLOWED`.",
    ),
    Variable("ARROYO_FAULTS_ALLOWED", "control planes and drivers under test", "1 arms `ARROYO_FAULT`."),
    Variable(
        "ARROYO_TEST_CONNECTORS",
        "drivers under test",
        "A module with further connectors; needs `ARROYO_TEST_CONNECTORS_ALLOWED`.",
    ),
    Variable("ARROYO_TEST_CONNECTORS_ALLOWED", "drivers under test", "1 lets `ARROYO_TEST_CONNECTORS` be loaded."),
    Variable(
        "ARROYO_EXAMPLE_FOLDER",
        "the example DAGs",
        "Where they write; `arroyo_example` in the home of Airflow by default.",
    ),
    Variable("ARROYO_DEMO_JOURNAL", "the example DAGs", "Where `make demo` has its tasks tell what they did."),
)
