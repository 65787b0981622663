"""The settings of a pipeline's runs. Each is declared once, below; from that are derived what `--set` takes, what the
API's `settings` takes, the reference page and the texts in an assignment.

    {"linger": "1 second", "fuse": "off"}    texts, as users write them, and as the database stores them
    RunSettings(linger=timedelta(seconds=1), fuse=False)

To add a setting, add a field.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from engine.errors import DurationError, NoStateUrlError, SettingError, message_of
from engine.values.cluster import ClusterSettings, complaint_about, has_other_disks, is_one_jvm
from engine.values.declared_settings import (
    COUNT,
    MAYBE_ON,
    MEMORY,
    ON_OR_OFF,
    OWN_OR_SHARED,
    TRUE_OR_FALSE,
    Kind,
    Setting,
    setting,
    settings_of,
)
from engine.values.durations import DEFAULT_LINGER, LONGEST_LINGER, read_duration, spell_duration
from engine.values.near_names import did_you_mean
from engine.values.spark_settings import PREFIX, read_spark_setting
from engine.values.start_positions import Backfill, StartPosition, read_backfill, read_starts, spell_instant


def _linger(text: str) -> timedelta:
    with suppress(DurationError):
        linger = read_duration(text)
        if timedelta(0) <= linger <= LONGEST_LINGER:
            return linger
    raise ValueError("must be a length of time of at most 10 seconds, such as '250 ms'")


def _master(text: str) -> str:
    if (wrong := complaint_about(text)) is not None:
        raise ValueError(wrong)
    return text


def _parts(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(";") if part.strip())


def _starts(text: str) -> Mapping[str, StartPosition]:
    return read_starts(_parts(text), "start_from")


def _spell_starts(starts: Mapping[str, StartPosition]) -> str:
    return "; ".join(f"{table}={start}" for table, start in starts.items())


LINGER: Kind[timedelta] = Kind("a length of time of at most 10 seconds, such as 250 ms", _linger, spell_duration)
MASTER: Kind[str | None] = Kind("local[N], local-cluster[N,CORES,MB] or spark://HOST:PORT", _master)
STARTS: Kind[Mapping[str, StartPosition]] = Kind("TABLE=POSITION, separated by semicolons", _starts, _spell_starts)
_TEXT: Kind[str] = Kind("a text", str)
_INSTANT: Kind[str] = Kind("an instant such as 2026-01-31T00:00:00Z", str)

HISTORY: tuple[Setting, ...] = (
    Setting(
        "history_from",
        "The instant at which history starts, by event time. The job ends when the history is read.",
        _INSTANT,
        "none",
        run_flag="--from",
    ),
    Setting("history_to", "The instant before which history ends.", _INSTANT, "none", run_flag="--to"),
    Setting(
        "history_stop_at",
        'The offsets before which the history of tables ends: `clicks=offsets:{"0": 12}`.',
        _TEXT,
        "none",
        run_flag="--stop-at",
    ),
    Setting(
        "then_continue",
        "`on` continues with new rows after the history.",
        ON_OR_OFF,
        "off",
        run_flag="--then-continue",
    ),
    Setting(
        "partial_windows",
        "`on` accepts windows that the history covers only in part.",
        ON_OR_OFF,
        "off",
        run_flag="--partial-windows",
    ),
)
"""The settings that together are the field `backfill`."""


@dataclass(frozen=True, slots=True)
class RunSettings:
    """The settings of a pipeline's runs."""

    memory: str = setting("Heap of the driver's JVM.", MEMORY, "2g")
    master: str | None = setting(
        "Where Spark runs.", MASTER, None, shown_default="`local[P]`, where P is the parallelism"
    )
    shared_disk: bool = setting(
        "`on` declares that all executors of a `spark://` master see the state directory. Each start probes that.",
        ON_OR_OFF,
        False,
    )
    quick: bool = setting("`true` starts a driver sooner, which then runs slower.", TRUE_OR_FALSE, False)
    linger: timedelta = setting("The pause between epochs.", LINGER, DEFAULT_LINGER)  # noqa: RUF009 - it returns a field
    max_epoch_rows: int | None = setting(
        "The most rows of a table that an epoch reads.",
        COUNT,
        None,
        shown_default="no limit",
        run_flag="--max-epoch-rows",
    )
    fuse: bool = setting("Push filters, projections and pre-aggregation into source tasks.", ON_OR_OFF, True)
    count_state: bool = setting("Count the rows in window state, which costs a look-up for each.", ON_OR_OFF, False)
    is_shared: bool = setting(
        "`shared` runs the pipeline in a JVM with others on the machine that set it too.",
        OWN_OR_SHARED,
        False,
        name="isolation",
        run_flag="a control plane",
    )
    by_pane: bool | None = setting(
        "`on` stores window state by pane, if the windows allow that and start empty.",
        MAYBE_ON,
        None,
        shown_default="`on` for complete files",
    )
    start_from: Mapping[str, StartPosition] = setting(
        "Where tables start that were not read yet: `clicks=earliest; orders=latest`.",
        STARTS,
        {},
        shown_default="the options of the tables",
        run_flag="--start-from",
    )
    backfill: Backfill | None = None
    """The range of history to read; `HISTORY` has its settings."""
    cluster: ClusterSettings = field(default_factory=ClusterSettings)
    """What is asked of a cluster."""


_FIELDS: Mapping[str, Setting] = settings_of(RunSettings)
_OF_CLUSTER: Mapping[str, Setting] = settings_of(ClusterSettings)
RUN_SETTINGS: Mapping[str, Setting] = {
    declared.name: declared for declared in (*_FIELDS.values(), *HISTORY, *_OF_CLUSTER.values())
}
"""All settings of a run, by their names. Beside these, a run takes the `ALLOWED` settings of Spark."""


def read_run_settings(texts: Mapping[str, str]) -> RunSettings:
    """Return the settings that the texts name. Raise SettingError with all complaints about unknown names and wrong
    values."""
    read: dict[str, Any] = {}
    complaints: dict[str, str] = {}
    for name, text in texts.items():
        try:
            read[name] = _read(name, text)
        except ValueError as error:
            complaints[name] = message_of(error)
    if complaints:
        raise SettingError("; ".join(complaints.values()), hint=_hint(complaints))
    settings = RunSettings(
        **{at: read[declared.name] for at, declared in _FIELDS.items() if declared.name in read},
        backfill=_backfill(texts, read),
        cluster=ClusterSettings(
            **{at: read[at] for at in _OF_CLUSTER if at in read},
            spark_conf={name: text for name, text in read.items() if name.startswith(PREFIX)},
        ),
    )
    _refuse_contradiction(settings, texts)
    return settings


def is_run_setting(name: str) -> bool:
    """Whether a name is that of a setting of a run, or has the form of one of Spark's."""
    return name in RUN_SETTINGS or name.startswith(PREFIX)


def near_names(name: str, names: Mapping[str, object] = RUN_SETTINGS) -> str:
    """Return a hint for an unknown name: the nearest one, and all of them."""
    return " ".join(filter(None, (did_you_mean(name, names), f"the settings are {', '.join(names)}")))


def _read(name: str, text: str) -> object:
    """Read one text. Raise ValueError with the whole complaint."""
    declared = RUN_SETTINGS.get(name)
    if declared is None and not name.startswith(PREFIX):
        raise ValueError(f"{name!r} is not a setting of a pipeline")
    try:
        return read_spark_setting(name, text) if declared is None else declared.kind.read(text)
    except ValueError as error:
        wrong = message_of(error)
        if name == "master" or not wrong.startswith("must"):
            raise ValueError(wrong if name == "master" else f"{name} {wrong}") from error
        raise ValueError(f"{name} {wrong}, and is {text!r}") from error


def _hint(wrong: Mapping[str, str]) -> str:
    """Return the hint for settings with these complaints: near names for an unknown one, else their defaults."""
    if unknown := [name for name in wrong if not is_run_setting(name)]:
        return near_names(unknown[0])
    defaults = [f"{name} is {RUN_SETTINGS[name].default} by default" for name in wrong if name in RUN_SETTINGS]
    return "; ".join(defaults) or "the reference of settings lists the ones of Spark that are allowed"


def _backfill(texts: Mapping[str, str], read: Mapping[str, Any]) -> Backfill | None:
    return read_backfill(
        texts.get("history_from"),
        texts.get("history_to"),
        _parts(texts.get("history_stop_at", "")),
        goes_on=read.get("then_continue", False),
        partial_windows=read.get("partial_windows", False),
    )


def _refuse_contradiction(settings: RunSettings, texts: Mapping[str, str]) -> None:
    """Raise SettingError for settings that no run would heed together."""
    is_local = settings.master is None or is_one_jvm(settings.master)
    if settings.is_shared and not is_local:
        raise SettingError(
            f"isolation = 'shared' is for pipelines that run on this machine, and master is {settings.master!r}",
            hint="leave out master, or isolation",
        )
    ignored = [
        name for name in texts if name.startswith(PREFIX) or (name in _OF_CLUSTER and _OF_CLUSTER[name].is_of_cluster)
    ]
    if is_local and ignored:
        raise SettingError(
            f"{', '.join(ignored)}: only for a run on a cluster, and "
            + ("there is no master" if settings.master is None else f"the master is {settings.master}"),
            hint="set master to spark://HOST:PORT, or leave them out",
        )


def write_run_settings(settings: RunSettings) -> dict[str, str]:
    """Return the texts of all settings that are not the defaults. `read_run_settings` reads them."""
    return {
        **_texts(settings, _FIELDS),
        **_history_texts(settings.backfill),
        **_texts(settings.cluster, _OF_CLUSTER),
        **settings.cluster.spark_conf,
    }


def _texts(value: RunSettings | ClusterSettings, declared: Mapping[str, Setting]) -> dict[str, str]:
    defaults = type(value)()
    return {
        of_field.name: of_field.kind.write(getattr(value, at))
        for at, of_field in declared.items()
        if getattr(value, at) != getattr(defaults, at)
    }


def _history_texts(backfill: Backfill | None) -> dict[str, str]:
    if backfill is None:
        return {}
    texts = {
        "history_from": None if backfill.since is None else spell_instant(backfill.since),
        "history_to": None if backfill.until is None else spell_instant(backfill.until),
        "history_stop_at": _spell_starts(backfill.stop_at) or None,
        "then_continue": "on" if backfill.goes_on else None,
        "partial_windows": "on" if backfill.partial_windows else None,
    }
    return {name: text for name, text in texts.items() if text is not None}


def needs_own_session(settings: RunSettings) -> bool:
    """Whether the run needs another Spark session than the usual one."""
    usual = RunSettings()
    chosen = (settings.memory, settings.master, settings.shared_disk, settings.quick, settings.is_shared)
    is_usual = chosen == (usual.memory, usual.master, usual.shared_disk, usual.quick, usual.is_shared)
    return not is_usual or settings.cluster != usual.cluster


def refuse_unreachable_state(settings: RunSettings, *, keeps_state: bool) -> None:
    """Raise NoStateUrlError if tasks of the run could not reach the state of its operators."""
    if not keeps_state or settings.cluster.state_url is not None:
        return
    if has_other_disks(settings.master, shared_disk=settings.shared_disk):
        raise NoStateUrlError(
            f"the query keeps state, and the executors of {settings.master} see another disk than the driver",
            hint="set state_url to a bucket, such as s3://bucket/prefix; or shared_disk = on if all executors see the "
            "state directory",
        )
