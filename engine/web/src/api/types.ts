// Written by `make docs` from the declarations in the code. Do not edit.

/** Number of the last processed delivery. */
export interface Acknowledgement {
  /** The number of that delivery. */
  up_to: number;
  /** The id of the consumer: another one of that name is refused. */
  id?: string | null;
}

/** A move, as its target control plane sees it. */
export interface Arrival {
  /** The pipeline, which keeps its id. */
  pipeline_id: string;
  /** What it is called. */
  name: string;
  /** How far it has come; null before it is here. */
  step: "leaving" | "exported" | "released" | "over" | "arrived" | "started" | null;
  /** How the import stands, until the control plane ends. */
  task: SavepointTask | null;
  /** Where its job stands. */
  state: State | null;
  /** Whether it has started here, and no request is pending; also if it was stopped since. */
  is_up: boolean;
}

/** The pipeline to import, its location, and the secrets of its script, which are not at the location. */
export interface ArrivalRequest {
  /** What the control plane says of it that it leaves. */
  passport: Passport;
  /** Where its state lies. */
  place: string;
  /** The control plane that it leaves, by its URL. */
  origin: string;
  /** The secrets that its script names. */
  secrets?: Record<string, unknown>;
}

/** Name of a function or an aggregate. */
export interface CallableName {
  /** The name. */
  name: string;
  /** How it is called. */
  usage: string;
  /** What it gives. */
  description: string;
}

/** An epoch that a DAG run relies on, after it has passed a gate. It is stored, and named by events that void it. */
export interface Certificate {
  id: string;
  /** The pipeline whose output it is about. */
  pipeline_id: string;
  /** The version that ran. */
  version: number | null;
  /** The history of the state that it stands on. */
  lineage: string | null;
  /** The newest committed epoch then. */
  epoch: number | null;
  /** The instant that was waited for. */
  past: number;
  /** How far the output was complete then. */
  complete_until: number;
  /** The sink that was waited for; null for all of them. */
  table: string | null;
  /** Whether by input or by output time. */
  by: "input" | "output";
  /** The DAG that waited. */
  dag_id: string;
  /** Its run. */
  run_id: string;
  /** When the gate was passed. */
  at: number;
  /** When a restore, or a version with force, made it void. */
  voided_at: number | null;
  /** The position in each partition of each source table up to which that epoch has read the input; null when it is no longer stored. */
  offsets: Record<string, unknown> | null;
  /** The run of the pipeline that has made that epoch, as OpenLineage knows it. Null when it is no longer stored, and in the certificates that a request voids. */
  openlineage?: ParentRun | null;
}

/** Settings to change; omitted ones are unchanged. */
export interface ChangeInput {
  /** Must be empty: a job has no environment. */
  env_vars?: Record<string, string> | null;
  /** Must be empty: there is no scheduler. */
  scheduler_config?: Record<string, unknown> | null;
  /** How to stop, or `none` to run. */
  stop?: "none" | "checkpoint" | "graceful" | "immediate" | "force" | null;
  /** How many tasks are to run in parallel. */
  parallelism?: number | null;
  /** The least time from one epoch to the next; with null, epochs follow each other at once. Another one makes a version. */
  checkpoint_interval_micros?: number | null;
  /** Its labels, all of them. They group pipelines in lists; no run depends on them. */
  tags?: Record<string, unknown> | null;
}

/** Current state of a pipeline that has changed; intermediate changes are skipped. */
export interface ChangeOutput {
  /** The pipeline that has changed. */
  pipeline_id: string;
  /** Its name. */
  pipeline: string;
  /** Whether it is no more. */
  deleted: boolean;
  /** Its job; null when it is no more. */
  job: Job | null;
}

/** Changes after a cursor. */
export interface ChangesPage {
  data: ChangeOutput[];
  /** How far this goes; sent as `after`, it asks for what follows. */
  cursor: string;
  /** Whether the full list follows, because the changes after the cursor are unknown: forget what you know of pipelines that are not in it. */
  reset: boolean;
}

/** A committed epoch. */
export interface Checkpoint {
  /** Its number. */
  epoch: number;
  backend?: string;
  checkpoint_type?: string;
  /** When it began. */
  start_time: number;
  /** When it was committed. */
  finish_time: number;
  /** Time since the epoch before was committed; null for the oldest epoch that is kept. */
  since_previous_micros: number | null;
  /** Rows read, for each second since the epoch before was committed; null where that is not known. */
  rows_per_second: number | null;
  events?: Record<string, unknown>[];
  /** Rows read from the sources. */
  rows_in: number;
  /** Rows given to the sinks. */
  rows_out: number;
  /** That of committed output: nothing older will be added. Null while it is not known. */
  watermark: number | null;
  /** Rows left out because they came after their watermark. */
  late_rows: number;
  /** Rows that could not be read or written and were left out, so far. */
  dropped_rows: number;
  /** Rows of state that were added, changed or removed. */
  state_changes: number;
  /** Memory that the state takes. */
  state_bytes: number;
  /** Rows that could be read when the epoch was planned and are not in it. Null when no source can tell. */
  rows_waiting: number | null;
  /** The history of the state that it belongs to. Null from drivers of an earlier version. */
  lineage: string | null;
  /** How far the output of each sink is complete. */
  sinks: Record<string, SinkProgress>;
  /** What was done with each table. */
  tables: Record<string, TableFigures>;
  /** How long each phase took, in microseconds: find, log, plan, compute, deliver, commit. */
  phases: Record<string, number>;
  /** Rows that are kept, of `windows` and of `sessions`; empty unless the setting `count_state` is on. */
  state_rows: Record<string, number>;
  /** Requests to the bucket of `state_url` since the report before, by kind: `changelog` are the PUTs of epochs; `put`, `get`, `head`, `list` and `delete` those of a start, then of maintenance. */
  state_requests: Record<string, number>;
  /** What each stateful operator did, by its id. One is left out while nothing is known of it. */
  operators: Record<string, OperatorFigures>;
}

/** Column lineage of a dataset. */
export interface ColumnLineageFacet {
  /** What has made it. */
  _producer?: string;
  /** What describes this facet. */
  _schemaURL?: string;
  /** For each column what it comes from. */
  fields: Record<string, InputFields>;
  /** What decides which rows there are, and so is behind all columns. */
  dataset: InputField[];
}

/** One error. */
export interface Complaint {
  /** The code of the error. */
  code: string;
  /** What is wrong. */
  message: string;
  /** What to do next. */
  hint?: string | null;
  /** Where in the script. */
  span?: Span | null;
}

/** Completions for a script. */
export interface Completions {
  /** Whatever is called with brackets. */
  functions: CallableName[];
  /** The options that every table has. */
  table_options: OptionName[];
  /** Those of each connector, in any direction. */
  connector_options: Record<string, OptionName[]>;
  /** The formats that tables of each connector may have. */
  connector_formats: Record<string, string[]>;
  /** Those of each format. */
  format_options: Record<string, OptionName[]>;
  /** The settings of a pipeline's runs. */
  run_settings: RunSettingName[];
  /** The settings of Spark that a pipeline may set by their own names. */
  spark_settings: string[];
}

/** A connection that every script may use. */
export interface ConnectionProfile {
  /** Its id; for a profile of the administrator's file, its name. */
  id: string;
  /** What `connection_profile = '...'` says. */
  name: string;
  /** The connector of its tables. */
  connector: string;
  /** Its options, in the shape of the connector's `connection_config`; secrets are asterisks. */
  config: Record<string, unknown>;
  /** What its connector does. */
  description: string;
  /** Whether it was made over HTTP, and can be deleted. */
  stored: boolean;
  /** When it was made; null of one of the file. */
  created_at?: number | null;
  /** Who made it; null of one of the file. */
  created_by?: string | null;
  /** The pipelines and tables that use it, of one that is stored. */
  used_by?: string[];
}

/** A connection for all pipelines. */
export interface ConnectionProfilePost {
  /** What `connection_profile = '...'` says. */
  name: string;
  /** The connector of its tables. */
  connector: string;
  /** Its options, in the shape of the connector's `connection_config`. Secrets are kept encrypted, and never shown; `{{ secret:NAME }}` names one instead. */
  config?: Record<string, unknown>;
}

/** A table that every script may name. */
export interface ConnectionTable {
  id: string;
  /** What scripts call it. */
  name: string;
  /** When it was made. */
  created_at: number;
  /** Who made it. */
  created_by: string;
  /** Its connector. */
  connector: string;
  /** The connection that it uses. */
  connection_profile: ConnectionProfile | null;
  /** What it is for: source, sink or lookup. */
  table_type: string;
  /** Its options; secrets are asterisks. */
  config: Record<string, unknown>;
  /** Its columns and its format. */
  schema: ShownSchema;
  /** How many pipelines use it. */
  consumers: number;
  /** The pipelines that use it. */
  used_by: string[];
  /** What is wrong with it by now; null when nothing is. */
  fault: string | null;
  /** The CREATE TABLE that declares it in the script of a pipeline. */
  statement: string;
}

/** A table for all pipelines. */
export interface ConnectionTablePost {
  /** What scripts call it. */
  name: string;
  /** Its connector. */
  connector: string;
  /** The connection that it uses, by id or name; null for none. */
  connection_profile_id?: string | null;
  /** Its options, in the shape of the connector's `table_config`, and any that a WITH clause may have. Secrets are stored encrypted, and never shown. */
  config?: Record<string, unknown>;
  /** Its columns and its format. */
  schema?: TableSchema | null;
}

/** A connector. Options with a dot in their name are in an object named by the part before it. */
export interface Connector {
  id: string;
  /** The same: what `connector = '...'` says. */
  name: string;
  /** Empty: there are no icons. */
  icon?: string;
  /** What it does. */
  description: string;
  /** Whether it may be used. */
  enabled?: boolean;
  /** Whether its tables can be read. */
  source: boolean;
  /** Whether its tables can be written. */
  sink: boolean;
  /** Whether single rows of its tables can be asked for. */
  lookup: boolean;
  /** Whether a table can be tried before there is a pipeline. */
  testing?: boolean;
  /** Whether lists of connectors leave it out. */
  hidden: boolean;
  /** Whether a table of it may have columns that its owner declares. */
  custom_schemas: boolean;
  /** The options that a connection holds, as the text of a JSON Schema; null for none. */
  connection_config: string | null;
  /** The options of its tables but for those, in any direction, as the text of a JSON Schema. */
  table_config: string;
  /** All options of its tables in each of its directions, as a JSON Schema each. */
  options: Record<string, Record<string, unknown>>;
  /** The formats of records that its tables may have. */
  formats: string[];
  /** The format if none is given. */
  default_format: string | null;
  /** What holds of every row that is written; null when it writes none. */
  guarantee: "exactly-once" | "at-least-once" | "best effort" | null;
}

/** The buckets that a consumer receives. */
export interface ConsumerRequest {
  /** The pipeline, by name or id. */
  pipeline: string;
  /** How long a bucket is: `1 hour`, `15 minutes`, `1 day`. */
  every: string;
  /** The sink that has to be complete; without it, all of them. */
  table?: string | null;
  /** Whether by input or by output time, as at a gate. */
  by?: "input" | "output";
  /** Whole days begin at midnight there. */
  time_zone?: string;
  /** How much later each bucket begins. */
  offset?: string;
  /** An instant of the first bucket; without it, the oldest one that is not complete, at the latest that of now. */
  start?: number | string | null;
  /** Buckets that end later are not reported. */
  until?: number | string | null;
  /** Whether closed buckets are reported again, as `reopened`, when rows came late for them. Without it a new consumer ignores these, and an existing one is unchanged. */
  late?: "ignore" | "reopen" | null;
  /** Where the control plane is to push deliveries, which it acknowledges itself then; null has them pulled. Without it, an existing consumer is unchanged. */
  push?: PushRequest | null;
}

/** A dataset that is read or written. */
export interface Dataset {
  /** The system that has it. */
  namespace: string;
  /** Its name there. */
  name: string;
  /** What is known of it. */
  facets: DatasetFacets;
}

/** Facets of a dataset. */
export interface DatasetFacets {
  /** Its columns. */
  schema: SchemaFacet;
  /** Where its columns come from. Null of what is read, and of a table of dead letters. */
  columnLineage?: ColumnLineageFacet | null;
  /** The table of the script that it is. */
  arroyo_table: TableFacet;
}

/** Unacknowledged deliveries of a consumer, oldest first. */
export interface Deliveries {
  /** The consumer as it is with these. */
  consumer: PartitionConsumer;
  /** The deliveries; the same again until they are acknowledged. */
  data: PartitionDelivery[];
  /** Whether more can be had at once after these. */
  has_more: boolean;
}

/** A move, as its source control plane sees it. */
export interface Departure {
  /** How far it has come. */
  step: "leaving" | "exported" | "released" | "over" | "arrived" | "started";
  /** The other control plane. */
  to: string;
  /** By which way the state goes. */
  place: string;
  /** When it was asked for. */
  began_at: number;
  /** What the other control plane has to know. */
  passport: Passport;
  /** What lets the other control plane start it; null before it is released. */
  key: string | null;
  /** How the export stands, until the control plane ends. */
  task: SavepointTask | null;
}

/** Target of the move, and the location for the state. */
export interface DepartureRequest {
  /** The other control plane, as people know it: its URL. */
  to: string;
  /** Where its state is put for the other control plane to fetch, which has to reach it, too: `file:///folder`, `s3://bucket/prefix` or `s3::https://endpoint/bucket/prefix`. */
  place: string;
}

/** A pipeline after a deployment. */
export interface DeployedPipeline {
  /** What names the pipeline for good. */
  id: string;
  /** What its owner calls it. */
  name: string;
  /** The number of its newest version. */
  version: number;
  /** The Python files of functions that the query may use. */
  udfs: Udf[];
  /** The settings of its runs. */
  settings: Record<string, string>;
  /** How many tasks run in parallel. */
  parallelism: number;
  /** The least time from one epoch to the next. */
  checkpoint_interval_micros: number | null;
  /** How its job is to stop; `none` lets it run. */
  stop: "none" | "checkpoint" | "graceful" | "immediate" | "force";
  /** Who has asked for that stop; null while it is to run. */
  stopped_by: string | null;
  /** When that was. */
  stopped_at: number | null;
  /** When it was deployed first. */
  created_at: number;
  /** Where its job stands. */
  state: State;
  /** Whether nothing that was asked for is still to come. */
  settled: boolean;
  /** The stop mode that a button would ask for. */
  action: "none" | "checkpoint" | "graceful" | "immediate" | "force" | null;
  /** What such a button would say. */
  action_text: string;
  /** Whether the job is on its way to another state. */
  action_in_progress: boolean;
  /** The plan, as nodes and edges; `key_type` and `value_type` of an edge are empty: they are not known. */
  graph: Record<string, unknown>;
  /** Whether it is a preview, which ends and is deleted when no client reads it. */
  preview?: boolean;
  /** Always null: a pipeline begins with no state of another one's. */
  state_url?: null;
  /** Labels that its owner groups pipelines by; a value may be empty. */
  tags?: Record<string, string>;
  /** What its newest version reads and writes; null where an earlier version was planned. */
  tables?: TableUse[] | null;
  /** What the state is bound to. */
  fingerprint: string;
  /** The same for deployments that say the same. */
  digest: string;
  /** Its job. */
  job_id: string;
  /** The directory of its state. */
  state_dir: string;
  /** How far all its sinks are complete; null while it is not known. */
  complete_until: number | null;
  /** Why the failed upgrade was not rolled back automatically. */
  not_undone?: string | null;
  /** The certificates that go with what was asked for and is not done yet: a restore, or force. */
  voids: Certificate[];
  /** The SQL text of the newest version. */
  query: string;
  /** Whether its newest version means the same already: then no version is made, and its text stays. */
  unchanged: boolean;
  /** Parts of the request that have no effect, and why. */
  remarks?: string[];
}

/** Desired settings of a pipeline. Omitted ones are unchanged, or have their defaults in a new pipeline. */
export interface Deployment {
  /** The SQL text. */
  query: string;
  /** How many tasks run in parallel; 1 when a new pipeline leaves it out. */
  parallelism?: number | null;
  /** The least time from one epoch to the next; with null, epochs follow each other at once. */
  checkpoint_interval_micros?: number | null;
  /** Files of Python functions that the query may use, all of them. */
  udfs?: (string | Udf)[] | null;
  /** The settings of its runs, all of them: memory, master, shared_disk, quick, linger, max_epoch_rows, fuse, count_state, isolation, by_pane, start_from, history_from, history_to, history_stop_at, then_continue, partial_windows, state_url, driver_host, driver_bind_address, driver_port, block_manager_port, mailbox_port, executor_memory, executor_cores, max_cores, executor_python, executor_archive, jars; and those of Spark that are allowed, by their own names. */
  settings?: Record<string, string> | null;
  /** The secrets that its script names: kept encrypted, given to its drivers when they start, never shown. Left out, they stay as they are; another value alone restarts nothing. */
  secrets?: Record<string, unknown> | null;
  /** How its job is to stop; `none` lets it run. */
  stop?: "none" | "checkpoint" | "graceful" | "immediate" | "force";
  /** Its labels, all of them. They group pipelines in lists; no run depends on them. */
  tags?: Record<string, unknown> | null;
  /** Makes a deployment that is sent twice happen once. */
  idempotency_key?: string | null;
  /** Whether to give up the state that another query has left. */
  force?: boolean;
  /** Whether the state that another query has left is taken over, as `POST .../plan` says; with `never` another query is refused. */
  upgrade?: "auto" | "never";
  /** Operators whose state stays although the rows before it have changed their meaning. */
  keep_state?: string[];
  /** Operators, sources and sinks that may lose their state or place. */
  reset?: string[];
  /** Operators with an added aggregate whose open windows are suppressed, instead of emitted with NULL. */
  hold_back?: string[];
  /** The id of a plan: what it says is lost may be lost. */
  accept_loss?: string | null;
}

/** Effects of a request, from its `dry_run`; nothing was done. */
export interface Effects {
  /** Whether the job that is up ends. */
  stops: boolean;
  /** Whether a run starts. */
  starts: boolean;
  /** About how long nothing is computed in between, from past starts; null when it is not known. */
  pause_micros: number | null;
  /** What stays. */
  kept: string[];
  /** What is given up. */
  lost: string[];
  /** What is computed, and perhaps written, again. */
  repeated: string[];
  /** The gate certificates that hold no more. */
  voided: string[];
  /** The effect on the state, if another query takes it over. */
  upgrade?: UpgradePlan | null;
  /** What a rollback goes back to. */
  rollback?: Rollback | null;
  /** Parts of the request that have no effect, and why. */
  remarks?: string[];
}

/** Location to which a savepoint is copied. */
export interface ExportRequest {
  /** `file:///folder` of the control plane's machine, `s3://bucket/prefix`, or `s3::https://endpoint/bucket/prefix`; a bucket is asked with the control plane's own credentials. */
  place: string;
  /** The place of an earlier export; existing files are not sent again: on a disk it gets a second name, in a bucket the server copies it. Either copy can be deleted without the other. */
  base?: string | null;
}

/** Reason of a job's failure. */
export interface FailureReason {
  /** What is wrong. */
  error: string;
  /** Where that comes from: `user` for a mistake, `external` for an outage of another system, and `internal` for all else, and if unknown. */
  domain: "user" | "external" | "internal";
}

/** Origin of a fork's state. */
export interface ForkOrigin {
  /** The original. */
  pipeline_id: string;
  /** Its name. */
  pipeline: string;
  /** The savepoint of it that the fork begins with. */
  savepoint_id: string;
  /** The version of the original that the savepoint is of. */
  version: number | null;
  /** The last epoch that it holds. */
  epoch: number | null;
  /** The effect on its state. */
  plan: UpgradePlan;
}

/** The new pipeline. Omitted settings are those of the original. */
export interface ForkRequest {
  /** What the new pipeline is called. */
  name: string;
  /** The SQL text; what it writes must be elsewhere. */
  query: string;
  /** Files of Python functions that the query may use, all of them. */
  udfs?: (string | Udf)[] | null;
  /** The settings of its runs, all of them. */
  settings?: Record<string, string> | null;
  /** The secrets that its script names. */
  secrets?: Record<string, unknown> | null;
  /** Operators whose state stays although the rows before it have changed their meaning. */
  keep_state?: string[];
  /** Operators and sources that may lose their state or place. */
  reset?: string[];
  /** Operators with an added aggregate whose open windows are suppressed, instead of emitted with NULL. */
  hold_back?: string[];
  /** The id of a plan: what it says is lost may be lost. */
  accept_loss?: string | null;
}

/** A new pipeline that starts from a savepoint of another pipeline. */
export interface ForkedPipeline {
  /** What names the pipeline for good. */
  id: string;
  /** What its owner calls it. */
  name: string;
  /** The number of its newest version. */
  version: number;
  /** The Python files of functions that the query may use. */
  udfs: Udf[];
  /** The settings of its runs. */
  settings: Record<string, string>;
  /** How many tasks run in parallel. */
  parallelism: number;
  /** The least time from one epoch to the next. */
  checkpoint_interval_micros: number | null;
  /** How its job is to stop; `none` lets it run. */
  stop: "none" | "checkpoint" | "graceful" | "immediate" | "force";
  /** Who has asked for that stop; null while it is to run. */
  stopped_by: string | null;
  /** When that was. */
  stopped_at: number | null;
  /** When it was deployed first. */
  created_at: number;
  /** Where its job stands. */
  state: State;
  /** Whether nothing that was asked for is still to come. */
  settled: boolean;
  /** The stop mode that a button would ask for. */
  action: "none" | "checkpoint" | "graceful" | "immediate" | "force" | null;
  /** What such a button would say. */
  action_text: string;
  /** Whether the job is on its way to another state. */
  action_in_progress: boolean;
  /** The plan, as nodes and edges; `key_type` and `value_type` of an edge are empty: they are not known. */
  graph: Record<string, unknown>;
  /** Whether it is a preview, which ends and is deleted when no client reads it. */
  preview?: boolean;
  /** Always null: a pipeline begins with no state of another one's. */
  state_url?: null;
  /** Labels that its owner groups pipelines by; a value may be empty. */
  tags?: Record<string, string>;
  /** What its newest version reads and writes; null where an earlier version was planned. */
  tables?: TableUse[] | null;
  /** What the state is bound to. */
  fingerprint: string;
  /** The same for deployments that say the same. */
  digest: string;
  /** Its job. */
  job_id: string;
  /** The directory of its state. */
  state_dir: string;
  /** How far all its sinks are complete; null while it is not known. */
  complete_until: number | null;
  /** Why the failed upgrade was not rolled back automatically. */
  not_undone?: string | null;
  /** The certificates that go with what was asked for and is not done yet: a restore, or force. */
  voids: Certificate[];
  /** The SQL text of the newest version. */
  query: string;
  /** Where its state comes from. */
  forked_from: ForkOrigin;
}

/** A new token. */
export interface FreshToken {
  /** Who has it; events name it. */
  name: string;
  /** When it was made. */
  created_at: number;
  /** Who made it. */
  created_by: string;
  /** When it ends. */
  expires_at: number | null;
  /** When it was taken back. */
  revoked_at: number | null;
  /** Whether it is let in now. */
  valid: boolean;
  /** Its value, which is shown this once. */
  token: string;
}

/** A file of functions for all pipelines. */
export interface FunctionPost {
  /** A folder to show it in; no part of its name. */
  prefix?: string;
  /** The source text of the file. */
  definition: string;
  /** What it is for. */
  description?: string;
  language?: "python";
}

/** The hand-over from a pipeline to its reprocessed copy. */
export interface HandOver {
  /** The one whose name and places are handed over. */
  pipeline: string;
  /** The one that has read its input again. */
  copy_name: string;
  /** The current step; `apart` if no hand-over was requested. */
  step: "apart" | "waiting" | "holding" | "passing" | "stopping" | "finishing" | "meeting" | "met" | "switching" | "over" | "given_up";
  /** When it came there, or when the two began to stand still for each other. */
  since: number;
  /** What it waits for, or why it was given up. */
  waits_for: string | null;
  /** The savepoint of the copy that the original goes on from. */
  savepoint_id: string | null;
  /** The version of the original that goes on from it. */
  version: number | null;
  /** Its effects, in sentences; only on request. */
  says: string[];
  /** The effect on the state of the copy and on the sinks; only on request. */
  plan: UpgradePlan | null;
}

/** The cause that keeps output from being complete any further, and the remedy. */
export interface HeldBy {
  /** Why it is held. */
  reason: "no_rows" | "oldest_rows" | "unread_rows" | "silent" | "history" | "open_files" | "no_epoch" | "not_running";
  /** What would move it, in words. */
  remedy: string;
  /** The source table; null where no source holds it. */
  source?: string | null;
  /** The partition of the source; null where it is no single one. */
  partition?: string | null;
  /** The watermark there; null where no row has shown one. */
  watermark?: number | null;
  /** Since when it has been so. */
  since?: number | null;
}

/** Progress of an import. */
export interface ImportAnswer {
  /** What the savepoint is called here. */
  id: string;
  /** What has become of the import. */
  task: SavepointTask;
  /** The savepoint, once all of it is here. */
  savepoint: Savepoint | null;
}

/** Location from which a savepoint is copied. */
export interface ImportRequest {
  /** `file:///folder` of the control plane's machine, `s3://bucket/prefix`, or `s3::https://endpoint/bucket/prefix`; a bucket is asked with the control plane's own credentials. */
  place: string;
  /** What to call it; by default as it was. */
  label?: string | null;
}

/** Suggested columns of a table, inferred from its input. */
export interface InferredSchema {
  /** The columns. */
  fields: Record<string, unknown>[];
  /** The columns as CREATE TABLE lists them. */
  columns: string;
  /** Where they are from, and what has to be looked at, in words. */
  message: string;
}

/** An input column. */
export interface InputField {
  /** The namespace of its dataset. */
  namespace: string;
  /** The name of its dataset. */
  name: string;
  /** The column. */
  field: string;
  /** The ways in which it is used. */
  transformations: Transformation[];
}

/** Input columns of a column. */
export interface InputFields {
  /** The columns it comes from. */
  inputFields: InputField[];
}

/** Job of a pipeline on the control plane. */
export interface Job {
  id: string;
  /** Its pipeline. */
  pipeline_id: string;
  /** Whether it is to run. */
  running_desired: boolean;
  /** Whether nothing that was asked for is still to come. */
  settled: boolean;
  /** Where it stands. */
  state: State;
  /** What the start of that run, or a rescale, is doing now; null in other states, unless the job is blocked and does not run. */
  step: string | null;
  /** The number of its newest run; one more at every start. */
  run_id: number;
  /** When that run was started. */
  start_time: number | null;
  /** When the job came to rest. */
  finish_time: number | null;
  /** The parallelism of the newest run. */
  tasks: number | null;
  /** Why it failed last, or what blocks it now. */
  failure_message: string | null;
  /** The code of that error. */
  failure_code: string | null;
  /** What to do about it. */
  failure_hint: string | null;
  /** The same failure, as Arroyo says it. */
  failure_reason: FailureReason | null;
  /** Always empty: there is no scheduler. */
  scheduler_config?: Record<string, unknown>;
  /** Always empty: a job has no environment of its own. */
  env_vars?: Record<string, string>;
  /** What is behind the failure: an outage is waited out, a mistake is never tried again, and what is unknown is tried some times. */
  failure_cause: "outage" | "mistake" | "unknown" | null;
  /** Whether that failure is one of the control plane's and lasts: it cannot store what the job reports, or cannot take the job's next step. It goes once it can. */
  blocked?: boolean;
  /** Starts after failures in a row since the last healthy run. */
  restarts: number;
  /** Starts after failures in all. */
  restarts_total: number;
  /** The code of the failure that the last of them was for. */
  restart_code: string | null;
  /** That of the newest committed epoch; null while its state is to be given up. */
  watermark: number | null;
  /** How far the output of each sink is complete. */
  sinks: Record<string, SinkProgress>;
  /** The newest committed epoch. */
  epoch: number | null;
  /** When the pipeline was deployed first. */
  created_at: number;
  /** The Java that its run shares with other pipelines; null where it has its own, or has not looked yet. */
  shared_java: SharedWith | null;
}

/** An error of a job. */
export interface JobLogMessage {
  id: string;
  /** When it happened. */
  created_at: number;
  /** Always null: which operator it was is not known. */
  operator_id?: null;
  /** Always null, as well. */
  task_index?: null;
  /** `info`, `warn` or `error`. */
  level: string;
  /** What happened. */
  message: string;
  /** What to do about it; empty when there is nothing to say. */
  details: string;
  /** Where it comes from, as in a `FailureReason`; null when it has no code. */
  error_domain: "user" | "external" | "internal" | null;
  /** The code of the error. */
  code: string | null;
  /** The run that it happened to. */
  run_id: number | null;
}

/** A leftover: a file, a directory, or rows of one kind. */
export interface Leak {
  /** What it is. */
  kind: string;
  /** Where it is; null for rows of the database. */
  path: string | null;
  /** How many there are. */
  count: number;
  /** The size of the files; null for rows. */
  bytes: number | null;
  /** Why it may go. */
  reason: string;
}

/** Datasets of a version in OpenLineage's format. */
export interface Lineage {
  /** What is read, and looked up in. */
  inputs: Dataset[];
  /** What is written. */
  outputs: Dataset[];
  /** The pipeline. */
  pipeline_id: string;
  /** The version whose plan it is: the newest. */
  version: number;
  /** The namespace of the job in OpenLineage. */
  namespace: string;
  /** What the job is called there. */
  name: string;
}

/** One-time login link. */
export interface Link {
  /** What to open at this control plane; it works once. */
  path: string;
  /** When it works no more. */
  expires_at: number;
}

/** A pipeline in the list: with figures of its run, and long fields only on request. */
export interface ListedPipeline {
  /** What names the pipeline for good. */
  id: string;
  /** What its owner calls it. */
  name: string;
  /** The number of its newest version. */
  version: number;
  /** The Python files of functions that the query may use. */
  udfs: Udf[];
  /** The settings of its runs. */
  settings: Record<string, string>;
  /** How many tasks run in parallel. */
  parallelism: number;
  /** The least time from one epoch to the next. */
  checkpoint_interval_micros: number | null;
  /** How its job is to stop; `none` lets it run. */
  stop: "none" | "checkpoint" | "graceful" | "immediate" | "force";
  /** Who has asked for that stop; null while it is to run. */
  stopped_by: string | null;
  /** When that was. */
  stopped_at: number | null;
  /** When it was deployed first. */
  created_at: number;
  /** Where its job stands. */
  state: State;
  /** Whether nothing that was asked for is still to come. */
  settled: boolean;
  /** The stop mode that a button would ask for. */
  action: "none" | "checkpoint" | "graceful" | "immediate" | "force" | null;
  /** What such a button would say. */
  action_text: string;
  /** Whether the job is on its way to another state. */
  action_in_progress: boolean;
  /** The plan, as nodes and edges; `key_type` and `value_type` of an edge are empty: they are not known. */
  graph: Record<string, unknown>;
  /** Whether it is a preview, which ends and is deleted when no client reads it. */
  preview?: boolean;
  /** Always null: a pipeline begins with no state of another one's. */
  state_url?: null;
  /** Labels that its owner groups pipelines by; a value may be empty. */
  tags?: Record<string, string>;
  /** What its newest version reads and writes; null where an earlier version was planned. */
  tables?: TableUse[] | null;
  /** What the state is bound to. */
  fingerprint: string;
  /** The same for deployments that say the same. */
  digest: string;
  /** Its job. */
  job_id: string;
  /** The directory of its state. */
  state_dir: string;
  /** How far all its sinks are complete; null while it is not known. */
  complete_until: number | null;
  /** Why the failed upgrade was not rolled back automatically. */
  not_undone?: string | null;
  /** The certificates that go with what was asked for and is not done yet: a restore, or force. */
  voids: Certificate[];
  /** The SQL text of the newest version; only `with=query` brings it and the `udfs`, and only `with=graph` the `graph`. */
  query: string | null;
  /** When its job entered its state. */
  since: number;
  /** The code of the error by which its job failed last, or that blocks it now. */
  failure_code: string | null;
  /** Whether that error is one of the control plane's and lasts, so that the job cannot be moved on. */
  blocked?: boolean;
  /** How far the watermark of committed output is behind the clock, negative where it is ahead of it. Null without a watermark, at the end of the input, and of a job that has stopped or failed: see `since`. */
  lag_micros: number | null;
  /** How fast it reads, from its two newest epochs; null while no run of it is up. */
  rows_per_second: number | null;
  /** Starts after failures in all. */
  restarts: number;
  /** CPU seconds that its processes take each second; null until its run has looked twice. */
  cpu_cores: number | null;
  /** The memory of all its processes, and its part of what it shares; null until its run has looked. */
  memory_bytes: number | null;
  /** The Java that it shares with other pipelines; null where it has its own. */
  shared_java: SharedWith | null;
}

/** Schedule of one pipeline's savepoints. */
export interface ListedSchedule {
  /** The cron expression. */
  cron?: string | null;
  /** Whose clocks are meant. */
  time_zone?: string | null;
  /** Windows in which none is taken. */
  blackout?: string[];
  /** Whether each is restored and read afterwards. */
  drill?: boolean;
  /** Whether none is taken for now. */
  paused?: boolean;
  /** The instant that is due next; null while it is paused. */
  next_at?: number | null;
  /** The result of the last savepoint that was due. */
  last?: ScheduleOutcome | null;
  /** What of the pipeline's savepoints is kept. */
  retention: RetentionRules;
  /** The pipeline. */
  pipeline_id: string;
  /** What it is called. */
  pipeline: string;
}

/** Output lines of drivers. */
export interface Log {
  data: string[];
  /** Whether the list goes on. */
  has_more?: boolean;
  /** Where these lines end; sent as `after`, it asks for the lines that follow. */
  cursor: string;
  /** Whether no more will come: all was read, and the job rests. */
  over: boolean;
  /** The same, as clients of Arroyo's API spell it. */
  hasMore: boolean;
}

/** A rate. */
export interface Metric {
  /** When the epoch was committed. */
  time: number;
  /** Rows of that epoch, for each second since the one before. */
  value: number;
}

/** One kind of rate. */
export interface MetricGroup {
  /** Rows that a source reads count as sent, rows that a sink gets as received. */
  name: "messages_recv" | "messages_sent";
  /** The rates. */
  subtasks: SubtaskMetrics[];
}

/** The state of an operator. */
export interface OperatorCheckpointGroup {
  /** The operator's id, or Spark's number of it where it has none. */
  operator_id: string;
  /** The length of the files that the epoch needs of it. */
  bytes: number;
  /** Always null: it is not known. */
  started_metadata_write?: null;
  /** When the epoch was committed. */
  finish_time: number | null;
  /** The parts that its state is cut into. */
  subtasks: SubtaskCheckpointGroup[];
}

/** Figures of a stateful operator in an epoch. Unknown ones are None. */
export interface OperatorFigures {
  /** Rows that went into it. Null where source tasks merge rows before Spark counts them. */
  rows_in?: number | null;
  /** Rows that it emitted. */
  rows_out?: number | null;
  /** Share of the time since the epoch before, 0 to 1, that its tasks read shuffled rows, and read, changed and stored state. */
  busy?: number | null;
}

/** Rates of an operator. */
export interface OperatorMetricGroup {
  /** Its number in the graph. */
  node_id: number;
  /** Its rates; none where they are not known. */
  metric_groups: MetricGroup[];
}

/** Option of a `WITH` clause. */
export interface OptionName {
  /** The name; one with a dot needs quotes. */
  name: string;
  /** What it is for. */
  description: string;
  /** The values that it may have; empty where these are not few. */
  choices: string[];
}

/** Disk usage besides the pipelines. */
export interface OtherStorage {
  /** What it is. */
  kind: string;
  /** The size of its files. */
  bytes: number;
}

/** Rows of a preview sink. */
export interface Output {
  data: Record<string, unknown>[];
  /** Whether the list goes on. */
  has_more?: boolean;
  /** Where these rows end; sent as `after`, it asks for the rows that follow. */
  cursor: string;
  /** How many rows after the cursor were let go before they were asked for. */
  missed: number;
  /** Whether no more will come: all was read, and the job rests. */
  over: boolean;
  /** The same, as clients of Arroyo's API spell it. */
  hasMore: boolean;
}

export interface PageCertificate {
  data: Certificate[];
  /** Whether the list goes on. */
  has_more?: boolean;
  /** The same, as clients of Arroyo's API spell it. */
  hasMore: boolean;
}

export interface PageCheckpoint {
  data: Checkpoint[];
  /** Whether the list goes on. */
  has_more?: boolean;
  /** The same, as clients of Arroyo's API spell it. */
  hasMore: boolean;
}

export interface PageConnectionProfile {
  data: ConnectionProfile[];
  /** Whether the list goes on. */
  has_more?: boolean;
  /** The same, as clients of Arroyo's API spell it. */
  hasMore: boolean;
}

export interface PageConnectionTable {
  data: ConnectionTable[];
  /** Whether the list goes on. */
  has_more?: boolean;
  /** The same, as clients of Arroyo's API spell it. */
  hasMore: boolean;
}

export interface PageConnector {
  data: Connector[];
  /** Whether the list goes on. */
  has_more?: boolean;
  /** The same, as clients of Arroyo's API spell it. */
  hasMore: boolean;
}

export interface PageDeparture {
  data: Departure[];
  /** Whether the list goes on. */
  has_more?: boolean;
  /** The same, as clients of Arroyo's API spell it. */
  hasMore: boolean;
}

export interface PageJobLogMessage {
  data: JobLogMessage[];
  /** Whether the list goes on. */
  has_more?: boolean;
  /** The same, as clients of Arroyo's API spell it. */
  hasMore: boolean;
}

export interface PageJob {
  data: Job[];
  /** Whether the list goes on. */
  has_more?: boolean;
  /** The same, as clients of Arroyo's API spell it. */
  hasMore: boolean;
}

export interface PageListedPipeline {
  data: ListedPipeline[];
  /** Whether the list goes on. */
  has_more?: boolean;
  /** The same, as clients of Arroyo's API spell it. */
  hasMore: boolean;
}

export interface PageListedSchedule {
  data: ListedSchedule[];
  /** Whether the list goes on. */
  has_more?: boolean;
  /** The same, as clients of Arroyo's API spell it. */
  hasMore: boolean;
}

export interface PageOperatorCheckpointGroup {
  data: OperatorCheckpointGroup[];
  /** Whether the list goes on. */
  has_more?: boolean;
  /** The same, as clients of Arroyo's API spell it. */
  hasMore: boolean;
}

export interface PageOperatorMetricGroup {
  data: OperatorMetricGroup[];
  /** Whether the list goes on. */
  has_more?: boolean;
  /** The same, as clients of Arroyo's API spell it. */
  hasMore: boolean;
}

export interface PagePartitionConsumer {
  data: PartitionConsumer[];
  /** Whether the list goes on. */
  has_more?: boolean;
  /** The same, as clients of Arroyo's API spell it. */
  hasMore: boolean;
}

export interface PagePartitionDelivery {
  data: PartitionDelivery[];
  /** Whether the list goes on. */
  has_more?: boolean;
  /** The same, as clients of Arroyo's API spell it. */
  hasMore: boolean;
}

export interface PagePipelineEvent {
  data: PipelineEvent[];
  /** Whether the list goes on. */
  has_more?: boolean;
  /** The same, as clients of Arroyo's API spell it. */
  hasMore: boolean;
}

export interface PageRehearsal {
  data: Rehearsal[];
  /** Whether the list goes on. */
  has_more?: boolean;
  /** The same, as clients of Arroyo's API spell it. */
  hasMore: boolean;
}

export interface PageSavepoint {
  data: Savepoint[];
  /** Whether the list goes on. */
  has_more?: boolean;
  /** The same, as clients of Arroyo's API spell it. */
  hasMore: boolean;
}

export interface PageSecret {
  data: Secret[];
  /** Whether the list goes on. */
  has_more?: boolean;
  /** The same, as clients of Arroyo's API spell it. */
  hasMore: boolean;
}

export interface PageStateRow {
  data: StateRow[];
  /** Whether the list goes on. */
  has_more?: boolean;
  /** The same, as clients of Arroyo's API spell it. */
  hasMore: boolean;
}

export interface PageStoredUdf {
  data: StoredUdf[];
  /** Whether the list goes on. */
  has_more?: boolean;
  /** The same, as clients of Arroyo's API spell it. */
  hasMore: boolean;
}

export interface PageToken {
  data: Token[];
  /** Whether the list goes on. */
  has_more?: boolean;
  /** The same, as clients of Arroyo's API spell it. */
  hasMore: boolean;
}

export interface PageWrittenTable {
  data: WrittenTable[];
  /** Whether the list goes on. */
  has_more?: boolean;
  /** The same, as clients of Arroyo's API spell it. */
  hasMore: boolean;
}

/** A parent run, or a run that this one depends on, as Airflow's OpenLineage provider reads it in an event. */
export interface ParentRun {
  /** The namespace of the job. */
  parentJobNamespace: string;
  /** What the job is called. */
  parentJobName: string;
  /** What the run is known by. */
  parentRunId: string;
}

/** A consumer of a pipeline's complete time buckets, and its progress. */
export interface PartitionConsumer {
  id: string;
  /** What it is called in paths. */
  name: string;
  /** The pipeline that it follows. */
  pipeline_id: string;
  /** The name of the pipeline. */
  pipeline: string;
  /** The sink that has to be complete; null for all of them. */
  table: string | null;
  /** Whether by input or by output time. */
  by: "input" | "output";
  /** How long a bucket is. */
  every_micros: number;
  /** Where days begin at midnight. */
  time_zone: string;
  /** How much later each bucket begins. */
  offset_micros: number;
  /** Where the first bucket begins. */
  start: number;
  /** Buckets that end later are not reported. */
  until: number | null;
  /** Whether buckets are reported again when rows came late for them. */
  late: "ignore" | "reopen";
  /** Whether a table of the pipeline takes late rows, and so may report late ones; null with `ignore`. */
  late_known: boolean | null;
  /** When the consumer was made. */
  created_at: number;
  /** The number of the newest delivery; 0 before there is one. */
  delivered: number;
  /** The consumer is done with all deliveries up to this number. */
  acked: number;
  /** Where the first bucket begins that was not closed yet. */
  closed_until: number;
  /** Where deliveries are pushed to; null when they are pulled. */
  push: PartitionPush | null;
}

/** A delivery to a consumer about a bucket. */
export interface PartitionDelivery {
  /** Never the same for two deliveries: the key to do things once by. */
  id: string;
  /** Its number; acknowledge up to it. */
  sequence: number;
  /** The bucket is complete; what was reported is void; rows came late for it, so read it again. */
  kind: "closed" | "voided" | "reopened";
  /** Where the bucket begins, in UTC, as Airflow's partition mappers read it. */
  key: string;
  /** Where the bucket begins. */
  start: number;
  /** Where it ends. */
  end: number;
  /** When it was first reported. */
  at: number;
  /** The certificate behind it; null once that is no longer stored. */
  certificate: Certificate | null;
}

/** Push target of a consumer, and its progress. */
export interface PartitionPush {
  /** The API server of the Airflow. */
  url: string;
  /** The asset that gets an event for each delivery, by URI or name. */
  asset: string;
  /** Whether the events have partition keys. */
  with_keys: boolean;
  /** The user who logs in. */
  username: string | null;
  /** The secret that has the password of the user. */
  password: string | null;
  /** The secret that has a token. */
  token: string | null;
  /** How many deliveries are still to be pushed; of over a thousand, a thousand. */
  waiting: number;
  /** How often in a row the next one could not be pushed. */
  failures: number;
  /** Why not, the last time. */
  error: string | null;
  /** The code of that error. */
  error_code: string | null;
  /** When it could not be pushed first. */
  failing_since: number | null;
  /** When it is tried again. */
  due: number | null;
  /** When Airflow has stored an event last. */
  pushed_at: number | null;
}

/** A pipeline at its export, without its secrets. */
export interface Passport {
  /** The id of the move. */
  move: string;
  /** Its id, which it keeps: by that its targets know their owner. */
  pipeline_id: string;
  /** What it is called, here and there. */
  name: string;
  /** The number of its version. */
  version: number;
  /** How many tasks run in parallel. */
  parallelism: number;
  /** The SQL text. */
  query: string;
  /** The files of its Python functions. */
  udfs?: string[];
  /** The settings of its runs. */
  settings?: Record<string, string>;
  /** The least time between epochs. */
  checkpoint_interval_micros?: number | null;
  /** What its state is bound to. */
  fingerprint: string;
  /** Its labels. */
  tags?: Record<string, unknown>;
  /** The names of the secrets that its script names. */
  secrets?: string[];
  /** Whether it is to run there. */
  runs: boolean;
  /** The digest of the key with which it may be started there. */
  lock: string;
  /** The number of its newest run. */
  generation: number;
  /** The newest epoch that its state has committed. */
  committed?: number | null;
  /** The newest epoch that its state has planned. */
  planned?: number | null;
}

/** Identity of the server. */
export interface Ping {
  pong?: boolean;
  /** The version of the engine. */
  version: string;
  /** Another one after every start of the control plane. */
  instance: string;
}

/** A pipeline, and the state of its job. */
export interface Pipeline {
  /** What names the pipeline for good. */
  id: string;
  /** What its owner calls it. */
  name: string;
  /** The number of its newest version. */
  version: number;
  /** The Python files of functions that the query may use. */
  udfs: Udf[];
  /** The settings of its runs. */
  settings: Record<string, string>;
  /** How many tasks run in parallel. */
  parallelism: number;
  /** The least time from one epoch to the next. */
  checkpoint_interval_micros: number | null;
  /** How its job is to stop; `none` lets it run. */
  stop: "none" | "checkpoint" | "graceful" | "immediate" | "force";
  /** Who has asked for that stop; null while it is to run. */
  stopped_by: string | null;
  /** When that was. */
  stopped_at: number | null;
  /** When it was deployed first. */
  created_at: number;
  /** Where its job stands. */
  state: State;
  /** Whether nothing that was asked for is still to come. */
  settled: boolean;
  /** The stop mode that a button would ask for. */
  action: "none" | "checkpoint" | "graceful" | "immediate" | "force" | null;
  /** What such a button would say. */
  action_text: string;
  /** Whether the job is on its way to another state. */
  action_in_progress: boolean;
  /** The plan, as nodes and edges; `key_type` and `value_type` of an edge are empty: they are not known. */
  graph: Record<string, unknown>;
  /** Whether it is a preview, which ends and is deleted when no client reads it. */
  preview?: boolean;
  /** Always null: a pipeline begins with no state of another one's. */
  state_url?: null;
  /** Labels that its owner groups pipelines by; a value may be empty. */
  tags?: Record<string, string>;
  /** What its newest version reads and writes; null where an earlier version was planned. */
  tables?: TableUse[] | null;
  /** What the state is bound to. */
  fingerprint: string;
  /** The same for deployments that say the same. */
  digest: string;
  /** Its job. */
  job_id: string;
  /** The directory of its state. */
  state_dir: string;
  /** How far all its sinks are complete; null while it is not known. */
  complete_until: number | null;
  /** Why the failed upgrade was not rolled back automatically. */
  not_undone?: string | null;
  /** The certificates that go with what was asked for and is not done yet: a restore, or force. */
  voids: Certificate[];
  /** The SQL text of the newest version. */
  query: string;
}

/** An event of a pipeline. Its `id` is a cursor: later events have larger ones. */
export interface PipelineEvent {
  id: number;
  /** When it happened. */
  created_at: number;
  /** `info`, `warn` or `error`. */
  level: string;
  /** What happened. */
  message: string;
  /** The code of the error. */
  code: string | null;
  /** What to do about it. */
  details: string | null;
  /** The run that it happened to. */
  run_id: number | null;
  /** The name of the token that asked for it, also where the control plane has carried it out; `control plane` for its own actions. */
  who: string | null;
  /** On whose behalf, as the header `X-Requested-By` of that request has named it. */
  requested_by?: string | null;
  /** The pipeline. */
  pipeline_id: string;
  /** Its name. */
  pipeline: string;
}

/** A new pipeline. */
export interface PipelinePost {
  /** Must be empty: a job has no environment. */
  env_vars?: Record<string, string> | null;
  /** Must be empty: there is no scheduler. */
  scheduler_config?: Record<string, unknown> | null;
  /** What it is called; no other one may have this name. */
  name: string;
  /** The SQL text. */
  query: string;
  /** Files of Python functions that the query may use, all of them. */
  udfs?: Udf[] | null;
  /** How many tasks run in parallel. */
  parallelism?: number;
  /** The least time from one epoch to the next; 10 seconds when it is left out. */
  checkpoint_interval_micros?: number | null;
  /** Must be null: a new pipeline begins without a state. */
  state_url?: string | null;
  /** Its labels, which group pipelines in lists. */
  tags?: Record<string, unknown> | null;
}

/** Disk usage of one pipeline. A file with several hard links counts once. */
export interface PipelineStorage {
  /** The pipeline. */
  pipeline_id: string;
  /** What it is called. */
  pipeline: string;
  /** Its state, with what savepoints share with it. */
  state_bytes: number;
  /** What only its savepoints have: so much is free without them. */
  savepoint_bytes: number;
  /** How many savepoints are there. */
  savepoints: number;
  /** What its runs have printed, and their scratch space. */
  log_bytes: number;
  /** What of its savepoints is kept; without any rule, all of them are. */
  retention: RetentionRules;
}

/** Another query for a pipeline, with the same options for losses as a deployment. */
export interface PlanRequest {
  /** The SQL text. */
  query: string;
  /** Files of Python functions that the query may use; those of the pipeline by default. */
  udfs?: (string | Udf)[] | null;
  /** Operators whose state stays although the rows before it have changed their meaning. */
  keep_state?: string[];
  /** Operators, sources and sinks that may lose their state or place. */
  reset?: string[];
  /** Operators with an added aggregate whose open windows are suppressed, instead of emitted with NULL. */
  hold_back?: string[];
  /** The settings of its runs; `start_from` sets where tables begin. The settings of the pipeline by default. */
  settings?: Record<string, string> | null;
}

/** A position in a script; both numbers count from one. */
export interface Position {
  line: number;
  column: number;
}

/** A query to preview. */
export interface PreviewPost {
  /** The SQL text. */
  query: string;
  /** Files of Python functions that the query may use, all of them. */
  udfs?: Udf[] | null;
  /** Must be false: a preview writes to no sink. */
  enable_sinks?: boolean;
}

/** RFC 9457, with the engine's error code. */
export interface Problem {
  /** The code, as a URN. */
  type: string;
  /** The reason phrase of the status. */
  title: string;
  /** The HTTP status. */
  status: number;
  /** The code of the error. */
  code: string;
  /** What is wrong. */
  detail: string;
  /** The same, where clients of Arroyo's API look for it. */
  error: string;
  /** What to do next. */
  hint?: string | null;
  /** The field or parameter of the request with which it is done all the same. */
  allowed_by?: string | null;
  /** Each thing that is wrong, when there are several. */
  errors?: Complaint[];
  /** What would become of the state, where that is why another query is refused. */
  plan?: UpgradePlan | null;
}

/** Result of retention rules for each savepoint of a pipeline. */
export interface PruneAnswer {
  /** Whether nothing was deleted. */
  dry_run: boolean;
  /** Every savepoint, oldest first. */
  fates: SavepointFate[];
  /** The size of the deleted savepoints, including files that other savepoints share. */
  bytes: number;
}

/** An asset of an Airflow that gets an event for each delivery. */
export interface PushRequest {
  /** The API server of the Airflow, such as `https://airflow.example`. */
  url: string;
  /** The asset, by URI or name. */
  asset: string;
  /** Whether events have partition keys: those start DAGs by partitions, the others DAGs by assets. */
  with_keys?: boolean;
  /** The user who logs in. */
  username?: string | null;
  /** The secret that has the password of the user, as `{{ secret:NAME }}`. */
  password?: string | null;
  /** The secret that has a token, instead of a user with a password. */
  token?: string | null;
}

/** A query to check. */
export interface Question {
  /** The SQL text. */
  query: string;
  /** Files of Python functions that the query may use. */
  udfs?: (string | Udf)[] | null;
}

/** A new query that is compared with the running one. */
export interface Rehearsal {
  id: string;
  /** Its pipeline, which is only read. */
  pipeline_id: string;
  /** `waiting` for its turn, `running`, `done` once the rows are compared, `failed` when nothing was compared, `stopped` when it was called off. */
  state: "waiting" | "running" | "done" | "failed" | "stopped";
  /** What it is at while it runs. */
  step: string | null;
  /** The version of the pipeline that ran when it was asked for. */
  version: number | null;
  /** The savepoint that it goes on from; null is the newest epoch. */
  savepoint_id: string | null;
  /** The plan by which the state is carried over. */
  plan_id: string;
  /** Who has asked for it. */
  creator: string | null;
  /** When it was asked for. */
  created_at: number;
  /** When it began to be played. */
  started_at: number | null;
  /** When it was over. */
  ended_at: number | null;
  /** How long it may be played. */
  limit_micros: number;
  /** Whether any row differs; null when that is not known. */
  differs: boolean | null;
  /** What was found: the rows that differ by sink, with examples, and between which positions of each table both queries have read. */
  report: Record<string, unknown> | null;
  /** The report for people. */
  text: string | null;
  /** Why nothing was compared. */
  failure: RehearsalFailure | null;
}

/** Reason why a rehearsal has no result. */
export interface RehearsalFailure {
  /** The code of the error. */
  code: string;
  /** What is wrong. */
  message: string;
  /** What to do next. */
  hint: string | null;
}

/** Another query for a pipeline, with the same options for losses as a deployment. */
export interface RehearsalRequest {
  /** The SQL text. */
  query: string;
  /** Files of Python functions that the query may use; those of the pipeline by default. */
  udfs?: (string | Udf)[] | null;
  /** Operators whose state stays although the rows before it have changed their meaning. */
  keep_state?: string[];
  /** Operators, sources and sinks that may lose their state or place. */
  reset?: string[];
  /** Operators with an added aggregate whose open windows are suppressed, instead of emitted with NULL. */
  hold_back?: string[];
  /** Of these `memory` and `start_from` count; those of the pipeline by default. */
  settings?: Record<string, string> | null;
  /** The savepoint that both queries go on from; else the newest epoch. */
  savepoint_id?: string | null;
  /** How many rows are shown of each sink that differs. */
  examples?: number;
  /** How long it may take; at most, and by default, the setting rehearsal.limit. */
  limit_micros?: number | null;
}

/** The start of the input to read again, and the prefix of the output. */
export interface ReprocessRequest {
  /** The prefix under which the new pipeline writes: folders, topics, keys. */
  into: string;
  /** The instant from which on rows are read, by event time. */
  since?: string | null;
  /** Where tables begin; by default at the first record: `clicks=offsets:{"0": 12}; orders=earliest`. */
  start_from?: string | null;
  /** Whether windows that the range cuts through may have a part of their rows. */
  partial_windows?: boolean;
  /** What the new pipeline is called; by default as the original, a dash, and the prefix. */
  name?: string | null;
  /** The secrets that its script names; by default the same. */
  secrets?: Record<string, unknown> | null;
  /** Whether it is to take the place of the original once it has caught up, as `POST .../hand-over` has it. */
  hand_over?: boolean;
  /** Whether, with `hand_over`, rows that change may be taken back with the recomputed values, also where the original had written others. */
  accept_other_values?: boolean;
}

/** The new pipeline. */
export interface ReprocessedPipeline {
  /** What names the pipeline for good. */
  id: string;
  /** What its owner calls it. */
  name: string;
  /** The number of its newest version. */
  version: number;
  /** The Python files of functions that the query may use. */
  udfs: Udf[];
  /** The settings of its runs. */
  settings: Record<string, string>;
  /** How many tasks run in parallel. */
  parallelism: number;
  /** The least time from one epoch to the next. */
  checkpoint_interval_micros: number | null;
  /** How its job is to stop; `none` lets it run. */
  stop: "none" | "checkpoint" | "graceful" | "immediate" | "force";
  /** Who has asked for that stop; null while it is to run. */
  stopped_by: string | null;
  /** When that was. */
  stopped_at: number | null;
  /** When it was deployed first. */
  created_at: number;
  /** Where its job stands. */
  state: State;
  /** Whether nothing that was asked for is still to come. */
  settled: boolean;
  /** The stop mode that a button would ask for. */
  action: "none" | "checkpoint" | "graceful" | "immediate" | "force" | null;
  /** What such a button would say. */
  action_text: string;
  /** Whether the job is on its way to another state. */
  action_in_progress: boolean;
  /** The plan, as nodes and edges; `key_type` and `value_type` of an edge are empty: they are not known. */
  graph: Record<string, unknown>;
  /** Whether it is a preview, which ends and is deleted when no client reads it. */
  preview?: boolean;
  /** Always null: a pipeline begins with no state of another one's. */
  state_url?: null;
  /** Labels that its owner groups pipelines by; a value may be empty. */
  tags?: Record<string, string>;
  /** What its newest version reads and writes; null where an earlier version was planned. */
  tables?: TableUse[] | null;
  /** What the state is bound to. */
  fingerprint: string;
  /** The same for deployments that say the same. */
  digest: string;
  /** Its job. */
  job_id: string;
  /** The directory of its state. */
  state_dir: string;
  /** How far all its sinks are complete; null while it is not known. */
  complete_until: number | null;
  /** Why the failed upgrade was not rolled back automatically. */
  not_undone?: string | null;
  /** The certificates that go with what was asked for and is not done yet: a restore, or force. */
  voids: Certificate[];
  /** The SQL text of the newest version. */
  query: string;
  /** What it does beside which pipeline. */
  reprocesses: ReprocessingAnswer;
}

/** The effects of a reprocessing. */
export interface ReprocessingAnswer {
  /** The original, which is not touched. */
  pipeline: string;
  /** The new pipeline. */
  name: string;
  /** Where each of its sinks writes, and where that of the original does. */
  writes: string[];
  /** What stays as it is. */
  stays: string[];
}

/** Options of a restart; `force` aborts the current epoch. */
export interface RestartRequest {
  /** Whether to give up the current epoch. */
  force?: boolean | null;
  /** Must not be true: a restart keeps the state. A deployment with `force` gives it up. */
  ignore_state?: boolean | null;
}

/** Savepoint to restore; `allow_replay` accepts that later output may be written again, and `with_version` also restores the query of the savepoint. */
export interface RestoreRequest {
  /** The savepoint. */
  savepoint_id: string;
  /** Whether output may be written again. */
  allow_replay?: boolean;
  /** Whether the savepoint's query comes back with it. */
  with_version?: boolean;
}

/** Retention of a pipeline's savepoints. Pinned savepoints, those in use, and the newest are never deleted. */
export interface RetentionRules {
  /** How many of the newest are kept. */
  keep_last?: number | null;
  /** Of how many days, that have one, the last one is kept. */
  daily?: number | null;
  /** Of how many weeks, that have one, the last one is kept. */
  weekly?: number | null;
  /** How old one may be at most. */
  max_age_micros?: number | null;
  /** How long those are kept that were taken before an upgrade; without it, for ever. */
  upgrades_for_micros?: number | null;
  /** Whose days and weeks are meant. */
  time_zone?: string;
}

/** Target of a rollback. */
export interface Rollback {
  /** The earlier version that comes back. */
  version: number;
  /** The savepoint that it continues from; null if the present state is of its plan, and stays. */
  savepoint_id: string | null;
  /** Whether the version takes over that state once more, as when it was deployed, since what it had written was taken back. */
  redone: boolean;
  /** The last epoch of that savepoint. */
  epoch: number | null;
  /** The sinks that cannot take back what they were given since. All others go back with the state. */
  ahead: SinkAhead[];
}

/** Version to roll back to. */
export interface RollbackRequest {
  /** The version; the one that ran before by default. */
  to?: number | null;
}

/** A pipeline after a rollback was requested. */
export interface RolledBackPipeline {
  /** What names the pipeline for good. */
  id: string;
  /** What its owner calls it. */
  name: string;
  /** The number of its newest version. */
  version: number;
  /** The Python files of functions that the query may use. */
  udfs: Udf[];
  /** The settings of its runs. */
  settings: Record<string, string>;
  /** How many tasks run in parallel. */
  parallelism: number;
  /** The least time from one epoch to the next. */
  checkpoint_interval_micros: number | null;
  /** How its job is to stop; `none` lets it run. */
  stop: "none" | "checkpoint" | "graceful" | "immediate" | "force";
  /** Who has asked for that stop; null while it is to run. */
  stopped_by: string | null;
  /** When that was. */
  stopped_at: number | null;
  /** When it was deployed first. */
  created_at: number;
  /** Where its job stands. */
  state: State;
  /** Whether nothing that was asked for is still to come. */
  settled: boolean;
  /** The stop mode that a button would ask for. */
  action: "none" | "checkpoint" | "graceful" | "immediate" | "force" | null;
  /** What such a button would say. */
  action_text: string;
  /** Whether the job is on its way to another state. */
  action_in_progress: boolean;
  /** The plan, as nodes and edges; `key_type` and `value_type` of an edge are empty: they are not known. */
  graph: Record<string, unknown>;
  /** Whether it is a preview, which ends and is deleted when no client reads it. */
  preview?: boolean;
  /** Always null: a pipeline begins with no state of another one's. */
  state_url?: null;
  /** Labels that its owner groups pipelines by; a value may be empty. */
  tags?: Record<string, string>;
  /** What its newest version reads and writes; null where an earlier version was planned. */
  tables?: TableUse[] | null;
  /** What the state is bound to. */
  fingerprint: string;
  /** The same for deployments that say the same. */
  digest: string;
  /** Its job. */
  job_id: string;
  /** The directory of its state. */
  state_dir: string;
  /** How far all its sinks are complete; null while it is not known. */
  complete_until: number | null;
  /** Why the failed upgrade was not rolled back automatically. */
  not_undone?: string | null;
  /** The certificates that go with what was asked for and is not done yet: a restore, or force. */
  voids: Certificate[];
  /** The SQL text of the newest version. */
  query: string;
  /** What it goes back to. */
  rollback: Rollback;
}

/** Setting of a pipeline's runs. */
export interface RunSettingName {
  /** The name. */
  name: string;
  /** What it does. */
  description: string;
  /** The values that it may have. */
  accepts: string;
  /** Its default, in words. */
  default: string;
  /** All its values; empty if there are many. */
  choices: string[];
  /** The kind of runs that it is for. */
  group: "general" | "history" | "cluster";
}

/** A stored copy of a checkpoint. */
export interface Savepoint {
  id: string;
  /** Its pipeline. */
  pipeline_id: string;
  /** What its owner calls it. */
  label: string | null;
  /** What has become of taking it. */
  state: "pending" | "completed" | "failed";
  /** The last epoch that it holds. */
  epoch: number | null;
  /** How far the output is complete at that epoch. */
  watermark: number | null;
  /** The parallelism of the state that it holds. */
  parallelism: number | null;
  /** Its directory. */
  path: string;
  /** The size of its files. */
  bytes: number | null;
  /** When it was asked for. */
  created_at: number;
  /** Why it could not be taken. */
  failure_message: string | null;
  /** The version of the pipeline that its state belongs to. */
  version: number | null;
  /** Who has asked for it. */
  creator: string | null;
  /** What it was taken for. */
  reason: string | null;
  /** Whether nothing deletes it. */
  pinned: boolean;
  /** When all its files were last read and compared with its manifest. */
  verified_at: number | null;
  /** When its whole state was last restored and read. */
  proven_at: number | null;
  /** What was wrong with it when it was last verified. */
  damage: string | null;
  /** What this control plane was asked last to do with it; lists do not say it. */
  task?: SavepointTask | null;
}

/** Pin of a savepoint, which overrides retention rules. */
export interface SavepointChange {
  /** Whether nothing may delete it, until it is unpinned. */
  pinned: boolean;
}

/** A savepoint, whether it is deleted, and why. */
export interface SavepointFate {
  /** The savepoint. */
  id: string;
  /** Whether it is deleted. */
  goes: boolean;
  /** Why. */
  reason: string;
}

/** Label and owner of the savepoint, for people; they need not be unique. */
export interface SavepointRequest {
  /** What to call it. */
  label?: string | null;
  /** Who asks for it. */
  creator?: string | null;
  /** What it is taken for. */
  reason?: string | null;
  /** How the job is to stop: the savepoint is then of its last epoch. `none` lets it run on. */
  stop?: "none" | "checkpoint" | "graceful" | "immediate" | "force";
}

/** Schedule of a pipeline's savepoints. Without a schedule, all fields are null. */
export interface SavepointSchedule {
  /** The cron expression. */
  cron?: string | null;
  /** Whose clocks are meant. */
  time_zone?: string | null;
  /** Windows in which none is taken. */
  blackout?: string[];
  /** Whether each is restored and read afterwards. */
  drill?: boolean;
  /** Whether none is taken for now. */
  paused?: boolean;
  /** The instant that is due next; null while it is paused. */
  next_at?: number | null;
  /** The result of the last savepoint that was due. */
  last?: ScheduleOutcome | null;
  /** What of the pipeline's savepoints is kept. */
  retention: RetentionRules;
}

/** Operation on a savepoint. */
export interface SavepointTask {
  /** What. */
  kind: "verify" | "drill" | "export" | "import" | "departure" | "arrival";
  /** When it was asked for. */
  at: number;
  /** What has become of it. */
  state: "running" | "done" | "failed";
  /** The result, or why there is none. */
  message: string | null;
}

/** The result of the last savepoint that was due. */
export interface ScheduleOutcome {
  /** The instant. */
  at: number;
  /** `taking`, `taken`, `drilling`, `proven`, `left_out` or `failed`. */
  state: string;
  /** The savepoint, if one was taken. */
  savepoint: string | null;
  /** Why there is none, or none that is known to be good. */
  reason: string | null;
}

/** Schedule of savepoints: each instant once, while the pipeline runs. */
export interface ScheduleRules {
  /** Minute, hour, day of the month, month and day of the week: `30 2 * * *` is 02:30 every day. */
  cron: string;
  /** Whose clocks are meant. */
  time_zone?: string;
  /** Windows in which none is taken, such as `mon-fri 09:00-17:00`, by the same clocks. */
  blackout?: string[];
  /** Whether each is restored into a scratch directory afterwards, and every row of its state read. */
  drill?: boolean;
  /** Whether none is taken for now. What is due meanwhile is not caught up afterwards. */
  paused?: boolean;
  /** What of the pipeline's savepoints is kept; without it, that stays as it is. */
  retention?: RetentionRules | null;
}

/** The columns of a dataset. */
export interface SchemaFacet {
  /** What has made it. */
  _producer?: string;
  /** What describes this facet. */
  _schemaURL?: string;
  /** The columns, in order. */
  fields: SchemaField[];
}

/** A column. */
export interface SchemaField {
  /** Its name. */
  name: string;
  /** Its type in SQL. */
  type: string;
}

/** A secret that a pipeline was deployed with; its value is never shown. */
export interface Secret {
  /** By which its script names it. */
  name: string;
  /** When it was given this value; null of what was set before that was noted. */
  set_at: number | null;
}

/** The logged-in user. */
export interface Session {
  /** The name of the token; `admin` for the first one. */
  who: string;
  /** The version of the control plane. */
  version: string;
  /** The proxy that authenticated the user, such as Airflow; null if there is none. */
  through?: string | null;
  /** Whether the user may change something, and not only read. */
  may_change?: boolean;
}

/** Credentials: a token or a one-time link. */
export interface SessionRequest {
  /** A token of this control plane. */
  token?: string | null;
  /** The code of a one-time link. */
  code?: string | null;
}

/** A JVM that a run shares with other pipelines. */
export interface SharedWith {
  /** The number of its process. */
  pid: number;
  /** How many pipelines share it. */
  drivers: number;
}

/** Schema of a table's records. */
export interface ShownSchema {
  /** The format of the records, with its options. */
  format: Record<string, unknown> | null;
  /** What happens to a record that cannot be decoded. */
  bad_data: Record<string, unknown> | null;
  /** How a message is split into several records. */
  framing: Record<string, unknown> | null;
  /** The columns. */
  fields: Record<string, unknown>[];
  /** The columns as CREATE TABLE lists them. */
  columns: string;
  /** Null: `columns` says it. */
  definition?: Record<string, unknown> | null;
  /** Of a sink: whether it has the columns of its rows. */
  inferred: boolean;
  /** The columns that say which row it is. */
  primary_keys: string[];
}

/** An append-only sink that keeps output after the state that a pipeline is rolled back to, and gets that output again. */
export interface SinkAhead {
  /** The sink. */
  table: string;
  /** What it writes with. */
  connector: string;
  /** How many epochs it is ahead; null when unknown. */
  epochs: number | null;
  /** How many rows; null when some of those epochs are no longer stored. */
  rows: number | null;
}

/** Completeness of a sink after a committed epoch. */
export interface SinkProgress {
  /** Every input row before it that was read and not late is in output that readers can read. */
  complete_until?: number | null;
  /** Every output row whose own event time, for windows just before their end, is before it. */
  output_until?: number | null;
  /** Why complete_until cannot be known. */
  unknown?: string | null;
  /** The source tables of it that are silent, so that their watermark is that of the clock. */
  by_clock?: string[];
  /** What keeps it from being complete any further. Null where nothing does, or in reports of drivers of an earlier version. */
  held_by?: HeldBy | null;
}

/** A column. `sql_name` is its SQL type; without it, `type` is Arroyo's. */
export interface SourceField {
  /** What it is called. */
  name: string;
  /** int64, string, struct, list and so on. */
  type?: string | null;
  /** The type as SQL has it, which wins. */
  sql_name?: string;
  /** Whether it is never NULL. */
  required?: boolean;
  /** By which its connector fills it. */
  metadata_key?: string | null;
  /** Whether it is computed of the others; `columns` says how. */
  generated?: boolean;
  /** Of a timestamp; all are in microseconds. */
  unit?: string | null;
  /** Of a struct: its members. */
  fields?: SourceField[];
  /** Of a list: its elements. */
  items?: SourceField | null;
}

/** A range in a script. */
export interface Span {
  start: Position;
  /** The same place: how far it goes is not known. */
  end: Position;
}

/** Confirmation that the source has released the pipeline. */
export interface StartRequest {
  /** What that control plane tells from then on. */
  key: string;
}

/** State of a job. */
export type State = "Created" | "Scheduling" | "Running" | "CheckpointStopping" | "Stopping" | "Stopped" | "Rescaling" | "Recovering" | "Finished" | "Failed";

/** A stateful operator. */
export interface StateOperator {
  /** Spark's number of it. */
  number: number;
  /** Its id, by which `reset` and `keep_state` name it. */
  id: string | null;
  /** What kind of operator it is. */
  kind: string | null;
  /** What Spark calls it. */
  spark_name: string | null;
  /** The length of the files that the newest committed epoch needs of it. */
  bytes: number;
  /** The rows that it keeps. */
  rows: number | null;
  /** The parts that its state is cut into. */
  partitions: StatePartition[];
  /** The largest part's bytes, divided by the mean of all parts. */
  skew: number | null;
  /** Why a field is not known. */
  unknown: Record<string, string>;
}

/** A partition of an operator's state, which one task processes. */
export interface StatePartition {
  /** Its number. */
  number: number;
  /** The length of the files that the newest committed epoch needs of it. */
  bytes: number;
  /** The rows that are kept in it. */
  rows: number | null;
}

/** A row of an operator's state. */
export interface StateRow {
  /** The part of the state that it is in. */
  partition: number;
  /** Which of the operator's tables it is of. */
  table: string;
  /** Its values, by the names of the script where those are known. */
  columns: Record<string, unknown>;
}

/** A sink, and the newest entry of its ledger. */
export interface StateSink {
  /** The table. */
  name: string;
  /** The history of the newest epoch that it has taken. */
  lineage: string | null;
  /** That epoch. */
  epoch: number | null;
  /** The number of the run that wrote it. */
  generation: number | null;
  /** The rows that it had. */
  rows: number | null;
  /** The rows that were left out so far. */
  refused: number | null;
  /** Why a field is not known. */
  unknown: Record<string, string>;
}

/** A place of the plan that reads a table, after the newest committed epoch. */
export interface StateSource {
  /** Spark's number of it. */
  number: number;
  /** The source table. */
  table: string | null;
  /** How far each of its partitions is read. */
  positions: unknown;
  /** Its watermark. */
  watermark: number | null;
  /** Why a field is not known. */
  unknown: Record<string, string>;
}

/** Summary of a state at its newest committed epoch, from its files. */
export interface StateSummary {
  /** Where it lies on the control plane's machine. */
  directory: string;
  /** The pipeline. */
  name: string | null;
  /** The version of the pipeline whose state it is. */
  version: number | null;
  /** What of the plan the state is bound to. */
  fingerprint: string | null;
  /** Into how many parts it is cut. */
  parallelism: number | null;
  /** The history that it belongs to. */
  lineage: string | null;
  /** The histories before it, nearest first, each with the last epoch that was taken over. */
  parents: unknown[];
  /** The newest committed epoch. */
  epoch: number | null;
  /** An epoch that is planned and not committed. */
  begun: number | null;
  /** When the newest epoch was committed. */
  at: number | null;
  /** That of committed output. */
  watermark: number | null;
  /** The places of the plan that read tables. */
  sources: StateSource[];
  /** What keeps state. */
  operators: StateOperator[];
  /** The tables that are written. */
  sinks: StateSink[];
  /** Why a field is not known. */
  unknown: Record<string, string>;
}

/** The disk of a control plane. */
export interface Storage {
  /** The directory in which everything is. */
  data_dir: string;
  /** The room that is left where it is. */
  free_bytes: number;
  /** What each pipeline takes, the largest first. */
  pipelines: PipelineStorage[];
  /** What is stored besides the pipelines, the largest first. */
  others: OtherStorage[];
  /** What the next sweep removes, since it is no longer needed. */
  leaks: Leak[];
}

/** A file of functions that every script may call. */
export interface StoredUdf {
  id: string;
  /** A folder to show it in; no part of its name. */
  prefix: string;
  /** The first function of the file. */
  name: string;
  /** All functions of the file. */
  names: string[];
  /** When it was made. */
  created_at: number;
  /** The same as `created_at`: a function is deleted and created again. */
  updated_at: number;
  /** The source text of the file. */
  definition: string;
  /** What it is for. */
  description: string;
  language?: "python";
  /** Null: nothing is compiled. */
  dylib_url?: string | null;
  /** Who made it. */
  created_by: string;
  /** The pipelines that use it. */
  used_by: string[];
}

/** A part of an operator's state. */
export interface SubtaskCheckpointGroup {
  /** Its number. */
  index: number;
  /** The length of the files that the epoch needs of it. */
  bytes: number;
  /** Always empty: when each part was written is not known. */
  event_spans?: Record<string, number | string>[];
}

/** The rates of all tasks together. */
export interface SubtaskMetrics {
  /** Always 0: tasks are not told apart. */
  index?: number;
  /** Those of the last five minutes, oldest first. */
  metrics: Metric[];
}

/** Leftovers that can be, or were, removed. */
export interface SweepAnswer {
  /** Whether nothing was deleted. */
  dry_run: boolean;
  /** What is left behind. */
  leaks: Leak[];
  /** The size of all files among it. */
  bytes: number;
}

/** Table of the script that corresponds to a dataset. */
export interface TableFacet {
  /** What has made it. */
  _producer?: string;
  /** What describes this facet. */
  _schemaURL?: string;
  /** What the script calls it. */
  table: string;
  /** What it is read or written with. */
  connector: string;
  /** Whether it is read, written or looked up in. */
  direction: "source" | "sink" | "lookup";
  /** Its place as others name it; null where that is not known. */
  uri: string | null;
}

/** Figures of a table in an epoch. Unknown or inapplicable ones are None. */
export interface TableFigures {
  /** Rows read from it. */
  rows_in?: number | null;
  /** Rows given to it. */
  rows_out?: number | null;
  /** Rows that could be read when the epoch was planned and are not in it. */
  rows_waiting?: number | null;
  /** Rows read from it that were left out because they came after their watermark. */
  late_rows?: number | null;
  /** Rows of it that could not be read or written and were left out, so far. */
  dropped_rows?: number | null;
  /** Those of its dropped rows that are kept as dead letters, so far. */
  dead_letters?: number | null;
  /** Share of the time since the epoch before, 0 to 1. Of a source: that its tasks worked, with all that they do to its rows before the next shuffle. Of a sink: that it took to deliver the epoch. */
  busy?: number | null;
}

/** Schema of a table's records. */
export interface TableSchema {
  /** The format of the records, as its name or as `{"json": {...}}` with its options. */
  format?: string | Record<string, unknown> | null;
  /** What happens to a record that cannot be decoded: `{"fail": {}}` or `{"drop": {}}`. */
  bad_data?: string | Record<string, unknown> | null;
  /** How a message is split into several records. */
  framing?: Record<string, unknown> | null;
  /** The columns. */
  fields?: SourceField[];
  /** The columns as CREATE TABLE lists them, with event time and watermark; they win over `fields`. */
  columns?: string | null;
  /** The columns as the text of a schema, as `{"avro_schema": "..."}`. It is refused (`request.unsupported`): `fields` or `columns` list them. */
  definition?: Record<string, unknown> | null;
  /** Of a sink: whether it has the columns of its rows. */
  inferred?: boolean | null;
  /** The columns that say which row it is. */
  primary_keys?: string[];
}

/** A table that a pipeline reads or writes. */
export interface TableUse {
  /** What the script calls it. */
  name: string;
  /** Whether it is read or written. */
  direction: "source" | "sink";
  /** What it is read or written with. */
  connector: string;
  /** Its place as others name it: `file:`, `s3:`, `kafka:`. Null where it has none, or only its driver knows it. */
  uri: string | null;
}

/** Result of a connection test. */
export interface TestMessage {
  /** Whether something is wrong. */
  error: boolean;
  /** Whether this is the last message. */
  done: boolean;
  /** What was found, or what is wrong. */
  message: string;
  /** The code of the error. */
  code?: string | null;
  /** What to do next. */
  hint?: string | null;
}

/** A named token; its value is never shown. */
export interface Token {
  /** Who has it; events name it. */
  name: string;
  /** When it was made. */
  created_at: number;
  /** Who made it. */
  created_by: string;
  /** When it ends. */
  expires_at: number | null;
  /** When it was taken back. */
  revoked_at: number | null;
  /** Whether it is let in now. */
  valid: boolean;
}

/** A new named token. */
export interface TokenRequest {
  /** Who has it; events name it. */
  name: string;
  /** When it ends; without it, when it is revoked. */
  expires_at?: number | null;
}

/** Use of a column. */
export interface Transformation {
  /** Whether its values are in the result, or decide on it. */
  type: "DIRECT" | "INDIRECT";
  /** In which way. */
  subtype: "IDENTITY" | "TRANSFORMATION" | "AGGREGATION" | "FILTER" | "JOIN" | "GROUP_BY" | "SORT" | "WINDOW" | "CONDITIONAL";
  /** Always empty: no words are made up. */
  description?: string;
  /** Whether its values cannot be read off the result. */
  masking: boolean;
}

/** User-defined functions, as the source text of a file of them. */
export interface Udf {
  /** The source text. */
  definition: string;
  language?: "python";
}

/** The function, or all errors in it. */
export interface UdfVerdict {
  /** The first function of the file; null when something is wrong. */
  udf_name: string | null;
  /** All functions of the file. */
  udf_names: string[];
  /** Everything that is wrong. */
  errors: string[];
}

/** The effect of an upgrade on a pipeline's state; nothing was done. */
export interface UpgradePlan {
  /** Stands for all that the plan shows; null where there is no state. */
  id: string | null;
  /** Whether the query cannot take over the state. */
  is_refused: boolean;
  /** Whether a deployment does it without `accept_loss`. */
  loses_nothing: boolean;
  /** The plan for people. */
  text: string;
  /** The same for the comment on a change. */
  markdown: string;
  /** The plan for programs: a verdict for each operator, source and sink. */
  plan: Record<string, unknown>;
}

/** The graph of the plan, or all errors of the query. */
export interface Verdict {
  /** The plan, as nodes and edges; null when something is wrong. */
  graph?: Record<string, unknown> | null;
  /** Everything that is wrong. */
  errors?: Complaint[];
}

/** The current user, if logged in. */
export interface Visitor {
  /** Null when no user is logged in. */
  session: Session | null;
}

/** Completeness of a pipeline's committed output; `passed` is the answer for the requested instant. */
export interface Watermark {
  /** The pipeline whose output it is about. */
  pipeline_id: string;
  /** That of the newest committed epoch; far in the future once the job has finished. */
  watermark: number | null;
  /** The newest committed epoch. */
  epoch: number | null;
  /** The history of the state that it belongs to. */
  lineage: string | null;
  /** Whether the output is complete up to `past`; null without it. */
  passed: boolean | null;
  /** Where the job stands. */
  state: State;
  /** Whether nothing that was asked for is still to come. */
  settled: boolean;
  /** The watermark of each source table. */
  sources: Record<string, number | null>;
  /** How far the output of each sink is complete. */
  sinks: Record<string, SinkProgress>;
  /** What keeps the gate shut, or without `past` the output of the sink that is least far; null once the gate is passed, when the job has finished, and where it is not known. */
  held_by: HeldBy | null;
  /** What a DAG run that names itself is given when the gate is passed. */
  certificate?: Certificate | null;
}

/** Confirmation that a target accepts a pipeline. */
export interface Welcome {
  /** The places that it would have to itself here. */
  targets: string[];
}

/** Newest rows of a sink, newest last. */
export interface WrittenRows {
  data: Record<string, unknown>[];
  /** Whether the list goes on. */
  has_more?: boolean;
  /** What they are. */
  role: "rows" | "dead letters" | "late rows";
  /** Why rows before these are not shown, though more were asked for; null where there are none. */
  left_out: string | null;
  /** Of dead letters: a script that reads their records again, to be mended and run; null where there is none. */
  replay: string | null;
  /** The same, as clients of Arroyo's API spell it. */
  hasMore: boolean;
}

/** A table that a pipeline writes. */
export interface WrittenTable {
  /** What the script calls it. */
  name: string;
  /** Its connector. */
  connector: string;
  /** What is in it. */
  role: "rows" | "dead letters" | "late rows";
  /** Of dead letters: the tables whose records they are. */
  sources: string[];
  /** Why what is in it cannot be shown; null when it can. */
  unreadable: string | null;
}
