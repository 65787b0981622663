"""XComs of each operator and sensor of the provider: the keys of its result, and other keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from engine.docs.models import code, page, table
from engine.jobs.decisions.states import STATES, TRANSITIONS


class Key(NamedTuple):
    """A key of a result, with the type of its value."""

    name: str
    type: str
    text: str


_ID = Key("pipeline_id", "str", "The id of the pipeline.")
_NAME = Key("name", "str", "The name of the pipeline.")
_STATE = Key("state", "str", "The state of the job, such as `Running`.")
_VERSION = Key("version", "int", "The version of the pipeline.")
_EPOCH = Key("epoch", "int | None", "The committed epoch.")
_WATERMARK = Key("watermark", "str | None", "The watermark of that epoch, as an ISO instant.")
_SAVEPOINT = Key("savepoint_id", "str", "The id of the savepoint.")
_CERTIFICATE = Key(
    "certificate",
    "dict",
    "The certificate of the gate: `id`, `pipeline`, `version`, `epoch`, `complete_until` and so on.",
)
_SENSOR = (_STATE, _EPOCH, _WATERMARK)
_DEPLOYED = (
    _ID,
    _NAME,
    _STATE,
    _VERSION,
    Key("lineage", "str | None", "The lineage of the state."),
    Key("plan", "dict", "`fingerprint`, `sources`, `sinks` and `operators` of the script."),
    _CERTIFICATE._replace(text=f'With `wait_for="complete"`. {_CERTIFICATE.text}'),
)

RESULTS: Mapping[str, Sequence[Key]] = {
    "StreamingSqlOperator": _DEPLOYED,
    "StreamBackfillOperator": _DEPLOYED,
    "SavepointOperator": (
        _SAVEPOINT,
        Key("path", "str", "The location of the savepoint."),
        _EPOCH,
        _WATERMARK,
        Key("bytes", "int", "The size of the savepoint."),
        Key("proven_at", "str", "With `drill`: when the savepoint was restored as a test."),
    ),
    "SavepointRetentionOperator": (
        _ID,
        Key("dry_run", "bool", "Whether nothing was deleted."),
        Key("fates", "list[dict]", "Each savepoint, oldest first: `id`, `goes`, `reason`."),
        Key("bytes", "int", "The size of the savepoints that are deleted."),
    ),
    "RescaleOperator": (_ID, Key("parallelism", "int", "The new parallelism."), _STATE),
    "StartStreamingJobOperator": (_ID, _NAME, _STATE, _VERSION),
    "StopStreamingJobOperator": (
        _ID._replace(type="str | None", text="The id of the pipeline; None if it does not exist."),
        _STATE._replace(type="str | None"),
        _EPOCH,
        _WATERMARK,
        Key("failure", "str | None", "Code and message, if the job has failed."),
    ),
    "DeletePipelineOperator": (
        _ID._replace(type="str | None", text="The id of the pipeline; None if it did not exist."),
        Key("deleted", "bool", "Whether this task has deleted it."),
    ),
    "RestoreOperator": (_ID, _VERSION, _STATE, _SAVEPOINT),
    "RollbackOperator": (
        _ID,
        _VERSION,
        _STATE,
        Key("rollback", "dict", "`version` and `savepoint_id` that were restored, `epoch`, and the sinks `ahead`."),
    ),
    "ForkOperator": (_ID, _NAME, _VERSION, _STATE, _SAVEPOINT),
    "ReprocessOperator": (
        _ID,
        _NAME,
        _STATE,
        Key("handed_over_to", "str", "With `hand_over`: the pipeline that has taken over."),
        _VERSION._replace(text="With `hand_over`: its version."),
    ),
    "MoveOperator": (_ID, _NAME, Key("to", "str", "The URL of the control plane that has it now."), _STATE),
    "UpgradePlanOperator": (
        Key("is_refused", "bool", "Whether the script cannot take over the state."),
        Key("loses_nothing", "bool", "Whether all state is kept."),
        Key("text", "str", "The plan as text."),
        Key("id", "str | None", "The id of the plan, for `accept_loss`."),
        Key("plan", "dict", "The plan as the API has it."),
        Key("markdown", "str", "The plan as Markdown."),
    ),
    "RehearseOperator": (
        Key("rehearsal_id", "str | None", "The id of the rehearsal; None if there is no pipeline yet."),
        _ID._replace(type="str | None"),
        Key("differs", "bool | None", "Whether a row differs."),
        Key("sinks", "list[dict]", "Each sink with its `rows_old`, `rows_new`, `only_old`, `only_new` and `examples`."),
        Key("plan", "str", "The id of the plan of the upgrade."),
        Key("epoch", "int", "The epoch at which both scripts began."),
        Key("rows_in", "dict", "The rows that were read of each source."),
    ),
    "NextPartitionOperator": (
        Key("start", "str", "The first instant of the time bucket."),
        Key("end", "str", "The first instant behind it."),
        Key("key", "str", "The partition key."),
        Key("kind", "str", "`complete` or `reopened`."),
        Key("delivery", "str", "The id of the delivery, never used twice."),
        _CERTIFICATE,
    ),
    "PushPartitionsOperator": (
        Key("consumer", "str", "The name of the consumer."),
        Key("consumer_id", "str", "Its id."),
        _ID,
        Key("pushed_to", "str | None", "The address of Airflow; None with `push=False`."),
        Key("delivered", "int", "The deliveries so far."),
        Key("acked", "int", "The acknowledged deliveries."),
    ),
    "WatermarkSensor": (
        *_SENSOR,
        _CERTIFICATE,
        Key("pipelines", "dict", "With several pipelines, instead of all that: this result for each, by name."),
    ),
    "CheckpointSensor": _SENSOR,
    "FreshnessSensor": _SENSOR,
    "LagSensor": _SENSOR,
    "StreamingJobSensor": _SENSOR,
}
"""Keys of `return_value`. A key that depends on a parameter says so."""

PUSHED: Mapping[str, Sequence[Key]] = {
    "SavepointOperator": (_SAVEPOINT, Key("savepoint_path", "str", "The location of the savepoint.")),
    "RehearseOperator": (Key("rehearsal", "dict", "The result, also if the task fails."),),
}
"""XComs under other keys. Every operator pushes `pipeline_id` before it waits."""


def states_page() -> str:
    """Return the page of job states with their meaning and transitions."""
    rows = [
        [code(state), meaning.text, ", ".join(code(after) for after in sorted(TRANSITIONS[state]))]
        for state, meaning in STATES.items()
    ]
    return page(
        "States of a job",
        "A job stays in its state or changes to one of the states that may follow.",
        [table(["state", "meaning", "may be followed by"], rows)],
    )
