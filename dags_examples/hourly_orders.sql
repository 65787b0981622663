-- Orders come in; event time runs a thousand times as fast as the clock, so that an hour passes in a few seconds.
CREATE TABLE orders (
    counter BIGINT UNSIGNED NOT NULL,
    ordered_at TIMESTAMP NOT NULL METADATA FROM 'timestamp',
    WATERMARK FOR ordered_at AS ordered_at - INTERVAL '10 seconds'
) WITH (
    connector = 'impulse',
    event_rate = 500,
    event_time_interval = INTERVAL '2 seconds',
    start_time = '{{ params.start }}'
);

-- What the batch tasks read: one directory per hour of event time.
CREATE TABLE by_hour WITH (
    connector = 'filesystem',
    type = 'sink',
    format = 'parquet',
    path = '{{ params.folder }}/by_hour',
    'partitioning.time_pattern' = '%Y-%m-%d-%H'
);

-- Every order as it came, in no order: what the answers can be checked against.
CREATE TABLE raw WITH (
    connector = 'filesystem',
    type = 'sink',
    format = 'parquet',
    path = '{{ params.folder }}/raw'
);

INSERT INTO by_hour
SELECT counter AS order_id, counter % 7 AS shop, (counter * 37) % 1000 AS cents, ordered_at
FROM orders;

INSERT INTO raw
SELECT counter, ordered_at
FROM orders;
