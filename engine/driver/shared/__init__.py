"""Drivers of several pipelines with a shared JVM.

    place.py      how to find a host process, and which drivers may share one
    host.py       the host process, which runs Java and Spark, and admits drivers
    jvm_lease.py  the driver's side: it connects to the host, or starts one

Each pipeline has a driver of its own, with its lock, log, heartbeats and exit code, and runs its query in a session of
its own in the shared JVM. When the driver has ended, in any way, the host stops its work and then releases the lock of
its pipeline. See docs/decisions/small-jobs-share-a-java.md.
"""
