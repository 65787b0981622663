-- Every option that all tables have, in every way a value can be written.
--: plan yes
CREATE TABLE a (at TIMESTAMP NOT NULL, done TIMESTAMP NOT NULL) WITH (
  connector = 'single_file', path = '/a', type = source, format = json, bad_data = 'drop', event_time_field = at,
  watermark_field = 'done', idle_time = INTERVAL '1 minute', late_rows = 'drop', framing = 'newline',
  'framing.newline.max_length' = '1000', 'json.unstructured' = false, 'lookup.cache.max_bytes' = 0,
  'lookup.cache.ttl' = INTERVAL '1' HOUR
);
CREATE TABLE b (at TIMESTAMP NOT NULL) WITH (
  'connector' = 'single_file', 'path' = '/b', 'type' = 'source', 'format' = 'json', "idle_micros" = -1, bad_data = fail
);
CREATE TABLE s WITH (connector = 'blackhole');
INSERT INTO s SELECT at FROM a;
INSERT INTO s SELECT at FROM b;
