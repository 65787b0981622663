"""What is declared is whole: connectors, formats, functions, states."""

import pytest

from engine.connectors import CONNECTORS
from engine.connectors.kinds import Connector
from engine.connectors.options import TableOptions
from engine.formats import FORMATS
from engine.functions import AGGREGATES, FUNCTIONS
from engine.functions.base import AggregateFunction, Function
from engine.jobs.decisions.states import STATES, TRANSITIONS, State


@pytest.mark.parametrize("connector", CONNECTORS, ids=lambda connector: connector.name)
def test_every_option_of_a_connector_is_described(connector: Connector) -> None:
    missing = [
        f"{direction}: {name}"
        for direction, options in connector.options.items()
        for name, info in options.model_fields.items()
        if not info.description
    ]
    assert missing == []


@pytest.mark.parametrize("connector", CONNECTORS, ids=lambda connector: connector.name)
def test_a_connector_can_do_what_it_says(connector: Connector) -> None:
    assert connector.summary.endswith(".")
    assert connector.kinds
    assert connector.formats <= {form.name for form in FORMATS}


def test_no_two_connectors_have_the_same_name() -> None:
    assert len({connector.name for connector in CONNECTORS}) == len(CONNECTORS)


def test_every_option_that_all_tables_have_is_described() -> None:
    assert [name for name, info in TableOptions.model_fields.items() if not info.description] == []


def test_every_option_of_a_format_is_described() -> None:
    missing = [
        f"{form.name}: {name}"
        for form in FORMATS
        for name, info in form.options.model_fields.items()
        if name != "format" and not info.description
    ]
    assert missing == []


def test_every_function_says_what_it_gives_and_how_it_is_called() -> None:
    functions: list[Function | AggregateFunction] = [*FUNCTIONS.values(), *AGGREGATES.values()]

    assert [function.name for function in functions if not function.doc.endswith(".") or not function.usage] == []


def test_no_name_calls_two_functions() -> None:
    functions: list[Function | AggregateFunction] = [*FUNCTIONS.values(), *AGGREGATES.values()]
    names = [name for function in functions for name in (function.name, *function.aliases)]

    assert sorted(set(names)) == sorted(names)


def test_every_state_has_a_meaning_and_says_what_may_follow() -> None:
    assert set(STATES) == set(TRANSITIONS) == set(State)
    assert [state for state, meaning in STATES.items() if not meaning.text.endswith(".")] == []
