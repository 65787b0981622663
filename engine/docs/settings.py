"""Reference of settings: those of the control plane, of environment variables, of a pipeline's runs, and of Spark."""

from __future__ import annotations

from argparse import SUPPRESS, Action, ArgumentParser
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import groupby

from engine.api.metrics.declared import OF_CONTROL_PLANE, OF_JOBS, OF_PROCESS, Metric
from engine.cli.verbs import GROUPS, Verb
from engine.docs.models import code, page, section, spell_default, spell_type, table, walk_settings
from engine.functions import AGGREGATES, FUNCTIONS, OVER, AggregateFunction, Function, OverFunction
from engine.settings import PREFIX, Settings
from engine.values.declared_settings import Setting
from engine.values.environment import VARIABLES
from engine.values.epoch_report import PHASES
from engine.values.run_settings import HISTORY, RUN_SETTINGS
from engine.values.spark_settings import ALLOWED, refused_settings

_INTRODUCTION = (
    "A value comes from, strongest first: the command line, the environment, a TOML file, the default. In the file, "
    "the part of a name before the dot is a section."
)


def settings_page() -> str:
    """Return every setting with its name in a file and in the environment; then what only the environment can say."""
    rows = [
        [
            code(name),
            code(PREFIX + name.replace(".", "__").upper()),
            spell_type(info.annotation),
            spell_default(info.get_default(call_default_factory=True)),
            info.description or "",
        ]
        for name, info in walk_settings(Settings)
    ]
    variables = [[code(variable.name), variable.read_by, variable.meaning] for variable in VARIABLES]
    return page(
        "Settings",
        _INTRODUCTION,
        [
            table(["setting", "environment", "value", "default", "what it does"], rows),
            section(
                "Other environment variables",
                "A name that ends in `_` stands for all names that begin so.",
                table(["variable", "read by", "what it does"], variables),
            ),
        ],
    )


_INTRODUCTION_METRICS = (
    "Served at `/metrics`, for Prometheus; [how to watch it](../how-to/monitoring.md). A figure that is not known is "
    "left out, never 0: a lag while there is no watermark yet or after the input has ended, or what drivers of an "
    "earlier version do not report. Counters of rows and epochs outlive restarts of jobs and of the control plane, and "
    "a restored state takes nothing back; an epoch whose driver died before it could report it is not in them."
)


def metrics_page() -> str:
    """Return every metric with its kind, its labels and what it says."""
    phases = [[code(name), meaning] for name, meaning in PHASES.items()]
    return page(
        "Metrics",
        _INTRODUCTION_METRICS,
        [
            section("Of pipelines", _metrics(OF_JOBS)),
            section("Phases of an epoch", table(["phase", "what it is spent on"], phases)),
            section("Of the control plane", _metrics(OF_CONTROL_PLANE)),
            section("Of its process", _metrics(OF_PROCESS)),
        ],
    )


def _metrics(metrics: Sequence[Metric]) -> str:
    rows = [[code(metric.name), metric.kind, ", ".join(map(code, metric.labels)), metric.meaning] for metric in metrics]
    return table(["metric", "kind", "labels", "what it says"], rows)


_HEADINGS = {
    "json": "JSON",
    "regex": "Regular expressions",
    "array": "Arrays",
    "struct": "Structs",
    "operators": "Operators",
}


def functions_page() -> str:
    """Return the page of scalar functions by family, then aggregates."""
    families = groupby(FUNCTIONS.values(), key=lambda function: function.family)
    sections = [
        section(_HEADINGS.get(family, family.capitalize()), _listing(list(functions))) for family, functions in families
    ]
    aggregates = section("Aggregates", "Of all rows of a group.", _listing(list(AGGREGATES.values())))
    doc = "Of a row among the rows of its window. Aggregates may be used with OVER as well."
    over = section("Before OVER", doc, _over_listing(list(OVER.values())))
    return page(
        "Functions",
        "What is not on this page cannot be called. The case of names does not matter.",
        [*sections, aggregates, over],
    )


def _listing(functions: list[Function] | list[AggregateFunction]) -> str:
    return table(
        ["call", "gives", "also called"],
        [[code(function.usage), function.doc, ", ".join(map(code, function.aliases))] for function in functions],
    )


def _over_listing(functions: list[OverFunction]) -> str:
    return table(["call", "gives"], [[code(function.usage), function.doc] for function in functions])


_PAGES = {
    "scripts, on this machine": ("cli/scripts", "Commands for scripts"),
    "pipelines of a control plane": ("cli/pipelines", "Commands for pipelines"),
    "savepoints and versions": ("cli/savepoints", "Commands for savepoints and versions"),
    "the control plane": ("cli/control-plane", "Commands for the control plane"),
}
"""Page of each group of the help, and its title."""


def cli_page() -> str:
    """Return the index of all verbs."""
    return page(
        "Command line",
        "`arroyo COMMAND`, or `python -m engine COMMAND`. Exit codes: 0 done, 2 refused, 3 failed while running, "
        "130 interrupted.",
        [section(_PAGES[group][1], _index(_PAGES[group][0], verbs)) for group, verbs in GROUPS],
    )


def cli_pages() -> dict[str, Callable[[], str]]:
    """Return a page for each group of verbs, by its path without the ending."""
    return {_PAGES[group][0]: partial(_group_page, _PAGES[group][1], verbs) for group, verbs in GROUPS}


def _index(path: str, verbs: Sequence[Verb]) -> str:
    rows = [[f"[`arroyo {verb.name}`]({path}.md#arroyo-{verb.name})", f"{verb.help}."] for verb in verbs]
    return table(["command", ""], rows)


def _group_page(title: str, verbs: Sequence[Verb]) -> str:
    return page(title, "[All commands](../cli.md)", map(_command, verbs))


def _command(command: Verb) -> str:
    parser = ArgumentParser(prog=f"arroyo {command.name}", add_help=False)
    command.add_arguments(parser)
    actions = [action for action in parser._actions if action.help != SUPPRESS]  # noqa: SLF001 - argparse names no other way
    text = f"{command.help}."
    rows = [[code(_spelling(action)), action.help or ""] for action in actions]
    return section(f"arroyo {command.name}", text, table(["argument", ""], rows))


def _spelling(action: Action) -> str:
    words = action.metavar if isinstance(action.metavar, str) else None
    if action.choices is not None and words is None:
        words = "|".join(map(str, action.choices))
    if not action.option_strings:
        return words or action.dest
    if action.nargs == 0:
        return ", ".join(action.option_strings)
    return f"{', '.join(action.option_strings)} {words or action.dest.upper()}"


_RUN_INTRODUCTION = (
    "These settings change how a pipeline runs. `arroyo run` and `arroyo deploy` take them with `--set NAME=VALUE`, "
    "the API in the field `settings` of a deployment, and Airflow operators in the parameter `settings`. Values are "
    "texts. A changed setting applies from the next start. `arroyo run` has arguments of its own for some of them, "
    "which are named below."
)
_HEAD = ("setting", "value", "default", "what it does")


def run_settings_page() -> str:
    """Return the page with every setting of a run."""
    history = {declared.name for declared in HISTORY}
    cluster = [each for each in RUN_SETTINGS.values() if each.is_of_cluster or each.name == "state_url"]
    general = [each for each in RUN_SETTINGS.values() if each not in cluster and each.name not in history]
    return page(
        "Settings of a pipeline",
        _RUN_INTRODUCTION,
        [
            table(_HEAD, _rows(general)),
            section(
                "History",
                "See [Read history](../how-to/backfill.md).",
                table(_HEAD, _rows(HISTORY)),
            ),
            section(
                "Clusters",
                "See [Run on a Spark cluster](../how-to/spark-cluster.md). All but `state_url` need `master` to be a "
                "cluster, and are refused without one.",
                table(_HEAD, _rows(cluster)),
            ),
            section(
                "Settings of Spark",
                "These are set by their own names, such as `--set spark.network.timeout=120s`, on a cluster.",
                table(
                    ("setting", "value", "what it changes"),
                    ([code(each.name), each.form, each.why] for each in ALLOWED.values()),
                ),
            ),
            section(
                "Settings of Spark that are refused",
                "All others are refused as well.",
                table(("setting", "why"), ([code(name), why] for name, why in refused_settings())),
            ),
        ],
    )


def _rows(settings: Iterable[Setting]) -> Iterable[list[str]]:
    for each in settings:
        flag = each.run_flag or ""
        about = f"{each.about} `arroyo run`: `{flag}`." if flag.startswith("--") else each.about
        yield [code(each.name), each.kind.accepts, each.default, about]
