"""Drivers of several pipelines that have the same Java.

    place.py      where a host is found, and who may be together in one
    host.py       the process that has Java and Spark open, and lets drivers in
    lodging.py    the driver's side: it goes to the host, or starts one where there is none

Each pipeline keeps a driver of its own, with its lock, log, heartbeats and exit code; it runs its query in a session of
its own in Java of the host. However it has gone, the host ends what it has under way, and only then lets go of the lock
of its pipeline. See docs/decisions/small-jobs-share-a-java.md.
"""
