"""Pure decisions about jobs: from the desired and the known state to the next action."""
