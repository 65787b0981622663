"""The Java archives that a peer needs for an input, besides those of its package."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyspark

from tests.kafka.jars import jars, spark_kafka

FLINK_KAFKA = "org.apache.flink flink-sql-connector-kafka 5.0.0-2.2"
"""The newest there is; it is made for Flink 2.2."""
FLINK_PARQUET = "org.apache.flink flink-sql-parquet 2.3.0"
_OF_SPARK = ("hadoop-client-*.jar", "zstd-jni-*.jar")


def archives(peer: str, source: str) -> Sequence[Path]:
    """Those of a peer that reads `json`, `parquet` or `kafka`."""
    match peer, source:
        case "spark", "kafka":
            return spark_kafka()
        case "flink", "kafka":
            return _of(FLINK_KAFKA)
        case "flink", "parquet":
            # its reader wants Hadoop's settings and a decompressor, which Spark brings
            spark = Path(pyspark.__file__).parent / "jars"
            return [*_of(FLINK_PARQUET), *(path for name in _OF_SPARK for path in sorted(spark.glob(name)))]
    return []


def _of(artifact: str) -> Sequence[Path]:
    return sorted(jars(artifact, alone=True).glob("*.jar"))
