"""Pure decisions about jobs: what is desired and what is known go in, the next action comes out."""
