"""The objects of Arroyo's API, as its OpenAPI document requires them: each field with what may be in it."""

from __future__ import annotations

from typing import Any

Shape = dict[str, Any]
TEXT, NUMBER, WHOLE, TRUTH = {"type": "string"}, {"type": "number"}, {"type": "integer"}, {"type": "boolean"}


def shape(**fields: Shape) -> Shape:
    """An object that has these fields at least; one that may be null need not be there."""
    required = [name for name, field in fields.items() if None not in field.get("anyOf", ())]
    known = {
        name: {"anyOf": [field["anyOf"][0], {"type": "null"}]} if "anyOf" in field else field
        for name, field in fields.items()
    }
    return {"type": "object", "properties": known, "required": required}


def maybe(inner: Shape) -> Shape:
    """That, or null, or nothing."""
    return {"anyOf": [inner, None]}


def each(inner: Shape) -> Shape:
    """A list of those."""
    return {"type": "array", "items": inner}


def one_of(*words: str) -> Shape:
    """One of these words."""
    return {"enum": list(words)}


def listed(inner: Shape, *, is_paged: bool = False) -> Shape:
    """How lists come."""
    return shape(data=each(inner), hasMore=TRUTH) if is_paged else shape(data=each(inner))


MAP = {"type": "object"}
STOP = one_of("none", "checkpoint", "graceful", "immediate", "force")
DOMAIN = one_of("user", "external", "internal")
LANGUAGE = one_of("python", "rust")
UDF = shape(definition=TEXT, language=LANGUAGE)
NODE = shape(node_id=WHOLE, operator=TEXT, description=TEXT, parallelism=WHOLE)
EDGE = shape(src_id=WHOLE, dest_id=WHOLE, key_type=TEXT, value_type=TEXT, edge_type=TEXT)
GRAPH = shape(nodes=each(NODE), edges=each(EDGE))
PIPELINE = shape(
    id=TEXT,
    name=TEXT,
    query=TEXT,
    udfs=each(UDF),
    checkpoint_interval_micros=WHOLE,
    stop=STOP,
    created_at=WHOLE,
    action=maybe(STOP),
    action_text=TEXT,
    action_in_progress=TRUTH,
    graph=GRAPH,
    preview=TRUTH,
    state_url=maybe(TEXT),
    tags=MAP,
)
JOB = shape(
    id=TEXT,
    pipeline_id=TEXT,
    running_desired=TRUTH,
    state=TEXT,
    run_id=WHOLE,
    start_time=maybe(WHOLE),
    finish_time=maybe(WHOLE),
    tasks=maybe(WHOLE),
    failure_reason=maybe(shape(error=TEXT, domain=DOMAIN)),
    created_at=WHOLE,
    scheduler_config=MAP,
    env_vars=MAP,
)
JOB_LOG_MESSAGE = shape(
    id=TEXT,
    created_at=WHOLE,
    operator_id=maybe(TEXT),
    task_index=maybe(WHOLE),
    level=one_of("info", "warn", "error"),
    message=TEXT,
    details=TEXT,
    error_domain=maybe(DOMAIN),
)
SPAN = shape(start_time=WHOLE, finish_time=WHOLE, event=TEXT, description=TEXT)
CHECKPOINT = shape(
    epoch=WHOLE,
    backend=TEXT,
    checkpoint_type=one_of("scheduled", "stopping"),
    start_time=WHOLE,
    finish_time=maybe(WHOLE),
    events=each(SPAN),
)
OPERATOR_CHECKPOINT_GROUP = shape(
    operator_id=TEXT,
    bytes=WHOLE,
    started_metadata_write=maybe(WHOLE),
    finish_time=maybe(WHOLE),
    subtasks=each(shape(index=WHOLE, bytes=WHOLE, event_spans=each(SPAN))),
)
METRIC_NAMES = ("bytes_recv", "bytes_sent", "messages_recv", "messages_sent", "backpressure", "tx_queue_size")
OPERATOR_METRIC_GROUP = shape(
    node_id=WHOLE,
    metric_groups=each(
        shape(
            name=one_of(*METRIC_NAMES, "tx_queue_rem"),
            subtasks=each(shape(index=WHOLE, metrics=each(shape(time=WHOLE, value=NUMBER)))),
        )
    ),
)
OUTPUT_DATA = shape(operator_id=TEXT, subtask_idx=WHOLE, timestamps=each(WHOLE), start_id=WHOLE, batch=TEXT)
PLACE = shape(line=WHOLE, column=WHOLE)
VALIDATION = shape(graph=maybe(GRAPH), errors=each(shape(message=TEXT, span=maybe(shape(start=PLACE, end=PLACE)))))
CONNECTOR = shape(
    id=TEXT,
    name=TEXT,
    icon=TEXT,
    description=TEXT,
    table_config=TEXT,
    enabled=TRUTH,
    source=TRUTH,
    sink=TRUTH,
    custom_schemas=TRUTH,
    testing=TRUTH,
    hidden=TRUTH,
    connection_config=maybe(TEXT),
)
CONNECTION_PROFILE = shape(id=TEXT, name=TEXT, connector=TEXT, config=MAP, description=TEXT)
UDF_VALIDATION = shape(udf_name=maybe(TEXT), errors=each(TEXT))
ERROR = shape(error=TEXT)
