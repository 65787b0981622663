from __future__ import annotations

import pytest

from engine.jobs.decisions.states import STATES, TRANSITIONS, State, may_follow


@pytest.mark.parametrize("state", State)
def test_every_state_has_a_meaning_and_says_what_may_follow(state: State) -> None:
    assert STATES[state].text.endswith(".")
    assert TRANSITIONS[state]
    assert state not in TRANSITIONS[state]


@pytest.mark.parametrize("state", [state for state in State if state is not State.CREATED])
def test_every_state_but_the_first_can_be_reached(state: State) -> None:
    assert any(state in following for following in TRANSITIONS.values())


@pytest.mark.parametrize("state", State)
def test_every_state_leads_to_rest(state: State) -> None:
    reached, todo = set(), [state]
    while todo:
        at = todo.pop()
        if at not in reached:
            reached.add(at)
            todo.extend(TRANSITIONS[at])

    assert State.STOPPED in reached


def test_resting_states_are_those_in_which_nothing_happens_by_itself() -> None:
    assert {state for state in State if state.is_terminal} == {State.STOPPED, State.FINISHED, State.FAILED}


def test_staying_is_always_allowed() -> None:
    assert all(may_follow(state, state) for state in State)
