"""Streams of Amazon Kinesis: read by shard, written at least once."""
