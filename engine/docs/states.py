"""Reference of job states."""

from __future__ import annotations

from engine.docs.markdown import code, page, table
from engine.jobs.decisions.states import STATES, TRANSITIONS


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
