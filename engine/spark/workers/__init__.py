"""Spark's Python processes as forks of one that has imported what they need, and the functions they can call.

A driver in one JVM has at least four of them: what makes a data source, what plans its reading, the planner of each
source, and the daemon of the workers. Each would import the same for itself.

    fork_start.py     the driver starts `fork_server`, and tells Spark that Python is a small program: `fork_client`
    fork_client.py    Spark starts it in place of Python: it hands over what it was given, and waits for the end
    fork_server.py    imports once; forks a process for each client, which goes on as `python -m ...` would

Without a server, or when it has gone, the client is Python itself. See docs/decisions/start-java-directly.md.
"""
