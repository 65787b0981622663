-- Arithmetic of lengths of time, days and instants.
--: rows yes
CREATE TABLE types (
  at TIMESTAMP NOT NULL, b BOOLEAN, i32 INT, u32 INT UNSIGNED, i64 BIGINT, u64 BIGINT UNSIGNED, f32 FLOAT, f64 DOUBLE,
  d DECIMAL(10, 2), big DECIMAL(38, 0), t TEXT, raw BYTEA, t0 TIMESTAMP(0), t3 TIMESTAMP(3), j JSON,
  s STRUCT<a STRUCT<b STRUCT<c ARRAY<STRUCT<d INT UNSIGNED, "when" TIMESTAMP, cost DECIMAL(4, 2)>>>>>
) WITH (connector = 'single_file', path = '$inputs/types.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out
SELECT at - t0 AS a, at::DATE - DATE '2023-12-31' AS b, at::DATE + 1 AS c, at::DATE + INTERVAL '1 hour' AS d, at - INTERVAL '1 day 1 second' AS e,
  INTERVAL '1 day' * 1.5 AS f, INTERVAL '1 day' / 2 AS g, -INTERVAL '1 day' + INTERVAL '2 hours' AS h, (at - t0) > INTERVAL '0 seconds' AS i,
  2 * INTERVAL '00:30:00' AS j, '90 minutes'::INTERVAL AS k, (at - t0)::TEXT AS l, extract(epoch FROM INTERVAL '1 minute') AS m
FROM types;
