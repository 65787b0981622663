"""The `arroyo` command, which is `python -m engine` too. To import all that it can do takes seconds on a busy machine,
and Ctrl-C ends it then as it does later."""

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
