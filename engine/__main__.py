"""Entry point of the `arroyo` command and of `python -m engine`. Imports take seconds on a busy machine, and Ctrl-C
works during them, too."""

import sys

INTERRUPTED = 130


def main() -> int:
    """Run one command; the exit code."""
    try:
        from engine.cli.main import main as run_command  # noqa: PLC0415 - an interrupt may come while this is imported

        return run_command()
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
