"""What a script may say is offered to whoever writes one."""

from __future__ import annotations

from engine.compile import compile_script
from engine.values.run_settings import RUN_SETTINGS
from tests.api.conftest import Plane


def test_functions_and_options_are_listed_as_scripts_say_them(plane: Plane) -> None:
    offered = plane.get("/completions")
    functions = {each["name"]: each["usage"] for each in offered["functions"]}
    of_tables = {each["name"]: each["choices"] for each in offered["table_options"]}
    of_kafka = {each["name"]: each["choices"] for each in offered["connector_options"]["kafka"]}
    of_json = {each["name"]: each["choices"] for each in offered["format_options"]["json"]}

    assert (functions["abs"], functions["list_append"]) == ("abs(number)", "list_append(array, value)")
    assert "row_number" in functions
    assert not {"+", "and", "like", "->"} & functions.keys()
    assert of_tables["bad_data"] == ["fail", "drop", "dead_letter"]
    assert (of_kafka["topic"], of_json["json.unstructured"]) == ([], ["true", "false"])
    assert "format" not in of_json
    assert "avro" in offered["connector_formats"]["kafka"]
    assert "preview" not in offered["connector_options"]


def test_every_completion_is_accepted_by_the_parser(plane: Plane) -> None:
    offered = plane.get("/completions")
    connectors = offered["connector_options"]

    for name in ("nexmark", "impulse"):
        option = next(each["name"] for each in connectors[name] if each["name"] == "event_rate")
        script = f"CREATE TABLE t WITH (connector = '{name}', {option} = '5'); SELECT 1 FROM t;"
        assert compile_script(script).tables


def test_every_setting_of_a_run_is_offered_with_its_values(plane: Plane) -> None:
    offered = plane.get("/completions")
    settings = {each["name"]: each for each in offered["run_settings"]}

    assert settings.keys() == RUN_SETTINGS.keys()
    assert (settings["fuse"]["choices"], settings["fuse"]["group"]) == (["on", "off"], "general")
    assert (settings["max_cores"]["choices"], settings["max_cores"]["group"]) == ([], "cluster")
    assert settings["history_from"]["group"] == "history"
    assert "spark.network.timeout" in offered["spark_settings"]
