"""Program that Spark starts instead of Python: asks the server to fork, and represents the child process.

    Spark     starts the client with `-m pyspark.daemon pyspark.worker`, and pipes as 0, 1 and 2
    client    sends arguments, environment, folder and the three pipes; then waits
    server    asks whether the client still waits; forks if it confirms
    server    reports the exit status of the child; the client exits likewise

When Spark kills the client, its connection breaks, and the server kills the child. Without a server the client becomes
Python. It runs without installed packages, within milliseconds, and imports nothing but `socket`.
"""

import os
import socket
import sys

NO_ANSWER = b""
MODULE = "-m"
_PATIENCE = 60.0
"""Timeout for a server that is still importing on a busy machine."""


def _ask(address: str, arguments: list[str]) -> bytes:
    """Return how the process has ended, in two bytes; empty if no process was started."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        try:
            lines = [os.getcwd(), str(len(arguments)), *arguments]  # noqa: PTH109 - `pathlib` takes as long as all the rest
            lines += [f"{key}={value}" for key, value in os.environ.items()]
            request = b"\0".join(line.encode(errors="surrogateescape") for line in lines)
            connection.settimeout(_PATIENCE)
            connection.connect("\0" + address)
            socket.send_fds(connection, [len(request).to_bytes(4, "big")], [0, 1, 2])
            connection.sendall(request)
            if not connection.recv(1):
                return NO_ANSWER
            # a client that gives up before this point gets no fork; after it, it waits for an answer or the end
            connection.settimeout(None)
            connection.sendall(b"!")
            if not connection.recv(1):
                return NO_ANSWER
        except OSError:
            return NO_ANSWER
        ended = b""
        while len(ended) < 2 and (more := connection.recv(2 - len(ended))):
            ended += more
    # a server that has gone leaves the process alone, and Spark has that on its own connection
    return ended if len(ended) == 2 else b"\0\0"


def main(address: str, arguments: list[str]) -> None:
    """Be the process that was asked for."""
    ended = _ask(address, arguments) if arguments[:1] == [MODULE] else NO_ANSWER
    if ended == NO_ANSWER:
        os.execv(sys.executable, [sys.executable, *arguments])  # noqa: S606 - we are what Spark has started
    signal, code = ended
    if signal:
        os.kill(os.getpid(), signal)
    os._exit(code)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
