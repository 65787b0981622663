-- What is around a record of Kafka can be columns, headers too, and only those that are asked for are read.
--: plan yes
CREATE TABLE events (
  n BIGINT, topic TEXT METADATA FROM 'topic', part INT METADATA FROM 'partition', at BIGINT METADATA FROM 'offset_id',
  key BYTEA METADATA FROM 'key', headers STRUCT<key TEXT, value BYTEA>[] METADATA FROM 'headers'
) WITH (
  connector = 'kafka', type = 'source', bootstrap_servers = 'one:9092,two:9092', topic = 'a, b', format = 'json',
  client_configs = 'fetch.min.bytes=1000', on_data_loss = 'continue', source.max_bytes_per_epoch = '64 MiB'
);
SELECT n, key, part FROM events;
