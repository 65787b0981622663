"""Verbs of the command line, in the groups of its help. A verb's module is imported when the verb is used; the overview
needs none."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import dataclass
from importlib import import_module

from engine.cli.base import Command


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb: its name, its help, and its module below `engine.cli`. Every help text, also of arguments, begins with a
    capital verb in the imperative and has no full stop at the end."""

    name: str
    help: str
    module: str
    command: str

    def load(self) -> Command:
        """Import the command."""
        command: Command = getattr(import_module(f"engine.cli.{self.module}"), self.command)
        return command

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the verb's arguments to its parser."""
        self.load().add_arguments(parser)

    def run(self, args: Namespace) -> int:
        """Run the verb; return the exit code."""
        return self.load().run(args)


LOCAL = (
    Verb("run", "Run a script until its input ends or Ctrl-C stops it", "scripts.run", "RUN"),
    Verb("warm", "Show or end the processes kept by `arroyo run --warm`", "scripts.warm", "WARM"),
    Verb("jars", "Fetch the Java archives for state in a bucket", "scripts.install", "JARS"),
    Verb("package", "Make an archive of this Python for the executors of a cluster", "scripts.install", "PACKAGE"),
    Verb("check", "Report every problem in a script, without running it", "scripts.explain", "CHECK"),
    Verb("explain", "Show the plan of a script", "scripts.explain", "EXPLAIN"),
    Verb("lineage", "Show where each column that a script writes comes from", "scripts.explain", "LINEAGE"),
    Verb("plan", "Preview an upgrade's effect on state", "upgrades.plan", "PLAN"),
    Verb("rehearse", "Compare the output of two versions over the same input", "upgrades.rehearse", "REHEARSE"),
    Verb("upgrade", "Rehearse an upgrade (with --rehearse)", "upgrades.rehearse", "UPGRADE"),
    Verb("doctor", "Check whether a bucket or a folder can store a state", "scripts.doctor", "DOCTOR"),
    Verb("state", "Inspect a state or a savepoint", "state", "STATE"),
)
PIPELINES = (
    Verb("deploy", "Deploy a pipeline from a file", "pipelines.deploy", "DEPLOY"),
    Verb("list", "List the pipelines", "pipelines.list_pipelines", "LIST"),
    Verb("top", "Watch all pipelines, the worst first", "pipelines.top", "TOP"),
    Verb("show", "Show a pipeline and the state of its job", "pipelines.pipelines", "SHOW"),
    Verb("start", "Start a pipeline that is stopped or has failed, from its state", "pipelines.pipelines", "START"),
    Verb("stop", "Stop a pipeline and keep its state", "pipelines.pipelines", "STOP"),
    Verb("restart", "Restart a pipeline with a new driver", "pipelines.pipelines", "RESTART"),
    Verb("rescale", "Change the parallelism of a pipeline", "pipelines.pipelines", "RESCALE"),
    Verb("delete", "Delete a stopped pipeline with its state", "pipelines.pipelines", "DELETE"),
    Verb("logs", "Show the logs of a pipeline's drivers", "pipelines.logs", "LOGS"),
    Verb("events", "Show what happened to pipelines, and who asked for it", "pipelines.logs", "EVENTS"),
    Verb("tail", "Follow the rows of a preview table", "pipelines.logs", "TAIL"),
    Verb("watermark", "Show how far the output of a pipeline is complete", "pipelines.partitions", "WATERMARK"),
    Verb("partitions", "Subscribe to completed time buckets", "pipelines.partitions", "PARTITIONS"),
)
STATES = (
    Verb("savepoint", "Take, list and manage savepoints of a pipeline", "savepoints.savepoint", "SAVEPOINT"),
    Verb("savepoints", "List the savepoints of a pipeline", "savepoints.savepoint", "SAVEPOINTS"),
    Verb("restore", "Restore a pipeline from a savepoint", "savepoints.savepoint", "RESTORE"),
    Verb("rollback", "Roll back to an earlier version, with its state", "savepoints.savepoint", "ROLLBACK"),
    Verb("fork", "Create a pipeline from a savepoint of another", "pipelines.deploy", "FORK"),
    Verb("move", "Move a pipeline to another control plane", "pipelines.move", "MOVE"),
    Verb("rehearsals", "List the rehearsals of a pipeline, show or stop one", "upgrades.rehearse", "REHEARSALS"),
    Verb("reprocess", "Read a pipeline's input again, into other sinks", "pipelines.deploy", "REPROCESS"),
)
CONTROL_PLANE = (
    Verb("serve", "Run the control plane on this machine", "server.serve", "SERVE"),
    Verb("ui", "Open the web page of the control plane in a browser", "server.serve", "UI"),
    Verb("connections", "Save, test and delete connections for all pipelines", "server.stored", "CONNECTIONS"),
    Verb("tables", "Save, test and delete tables; infer their columns", "server.stored", "TABLES"),
    Verb("token", "Create, list and revoke tokens", "server.token", "TOKEN"),
    Verb("sweep", "Remove leftovers of killed and old runs", "server.serve", "SWEEP"),
    Verb("backup", "Back up a whole control plane into a file, while it runs", "server.token", "BACKUP"),
    Verb("restore-backup", "Restore a control plane from a backup", "server.token", "RESTORE_BACKUP"),
    Verb("completion", "Print a completion script: source <(arroyo completion bash)", "scripts.install", "COMPLETION"),
)
GROUPS = (
    ("scripts, on this machine", LOCAL),
    ("pipelines of a control plane", PIPELINES),
    ("savepoints and versions", STATES),
    ("the control plane", CONTROL_PLANE),
)
"""Groups of the help, in order."""
REMOTE = tuple(
    verb
    for verb in (*PIPELINES, *STATES, *CONTROL_PLANE)
    if verb.name not in ("backup", "restore-backup", "completion")
)
"""Verbs that use a control plane, and `serve`."""
COMMANDS: tuple[Verb, ...] = tuple(verb for _, verbs in GROUPS for verb in verbs)
"""Every verb."""
