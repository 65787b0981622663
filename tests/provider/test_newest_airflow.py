"""Airflow 3.3 loads the commands of this provider into its own command line, and its manifest may have them."""

from __future__ import annotations

import json
from pathlib import Path

import airflow
import jsonschema
from airflow.cli import cli_parser

import airflow_provider_arroyo
from airflow_provider_arroyo import cli
from airflow_provider_arroyo.get_provider_info import get_provider_info


def test_the_commands_are_there() -> None:
    parser = cli_parser.get_parser()

    assert parser.parse_args(["arroyo", "list", "--format", "json"]).func is cli.list_pipelines
    assert parser.parse_args(["arroyo", "plan", "orders", "new.sql"]).func is cli.plan
    assert parser.parse_args(["arroyo", "doctor"]).func is cli.doctor


def test_the_manifest_would_do_as_a_provider_yaml() -> None:
    release = {"state": "ready", "source-date-epoch": 0, "versions": [airflow_provider_arroyo.__version__]}
    schema = json.loads((Path(airflow.__file__).parent / "provider.yaml.schema.json").read_text())

    jsonschema.validate({**get_provider_info(), **release}, schema)
