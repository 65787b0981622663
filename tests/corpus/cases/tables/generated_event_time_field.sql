-- The older way of naming it works as well.
--: plan yes
CREATE TABLE t (
  micros BIGINT,
  at TIMESTAMP GENERATED ALWAYS AS (to_timestamp_micros(micros)) STORED,
  done TIMESTAMP GENERATED ALWAYS AS (to_timestamp_micros(micros) - INTERVAL '10 seconds') STORED
) WITH (
  connector = 'single_file', path = '/t.json', format = 'json', type = 'source',
  event_time_field = at, watermark_field = 'done'
);
SELECT micros FROM t;
