"""What a JVM is told to spend on itself."""

from __future__ import annotations

import pytest

from engine.spark.jvm.start import economy_options


@pytest.mark.parametrize(
    ("master", "memory", "is_serial"),
    [
        ("local[1]", "2g", True),
        ("local", "600M", True),
        ("local[2, 4]", "4g", True),
        ("local[2]", "4294967296", True),
        ("local[3]", "2g", False),
        ("local[*]", "2g", False),
        ("local[1]", "5g", False),
        ("local-cluster[2,1,1024]", "2g", False),
        ("spark://host:7077", "2g", False),
        ("", "2g", False),
    ],
)
def test_only_a_small_java_collects_its_garbage_with_one_thread(master: str, memory: str, is_serial: bool) -> None:
    options = economy_options(master=master, memory=memory, quick=False)

    assert ("-XX:+UseSerialGC" in options) is is_serial
    assert "-XX:Tier4CompileThreshold=150000" in options
    assert "-XX:TieredStopAtLevel=1" not in options


def test_a_quick_java_never_optimises() -> None:
    assert economy_options(master="local[8]", memory="8g", quick=True) == [
        "-XX:TieredStopAtLevel=1",
        "-XX:+UseSerialGC",
    ]
