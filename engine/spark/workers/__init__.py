"""Spark's Python processes as children of one process that has done their imports, and the functions they can call.

A driver in one JVM has at least four of them: the one that creates data sources, the one that plans reads, the planner
of each source, and the daemon of the workers. Each would do the same imports.

    fork_start.py     the driver starts `fork_server`, and configures `fork_client` as Spark's Python program
    fork_client.py    Spark starts it instead of Python; it passes on its arguments, and waits for the end
    fork_server.py    does the imports once; forks a process per client, which continues like `python -m ...`

Without a server the client becomes Python itself. See docs/decisions/start-java-directly.md.
"""
