"""The settings of a pipeline's runs, and the settings of Spark that a pipeline may set."""

from __future__ import annotations

from collections.abc import Iterable

from engine.docs.models import code, page, section, table
from engine.values.declared_settings import Setting
from engine.values.run_settings import HISTORY, RUN_SETTINGS
from engine.values.spark_settings import ALLOWED, refused_settings

_INTRODUCTION = (
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
        _INTRODUCTION,
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
