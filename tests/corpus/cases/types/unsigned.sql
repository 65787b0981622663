-- Unsigned numbers are checked when they are read, and widen when they are computed with.
--: rows yes
CREATE TABLE types (
  at TIMESTAMP NOT NULL, b BOOLEAN, i32 INT, u32 INT UNSIGNED, i64 BIGINT, u64 BIGINT UNSIGNED, f32 FLOAT, f64 DOUBLE,
  d DECIMAL(10, 2), big DECIMAL(38, 0), t TEXT, raw BYTEA, t0 TIMESTAMP(0), t3 TIMESTAMP(3), j JSON,
  s STRUCT<a STRUCT<b STRUCT<c ARRAY<STRUCT<d INT UNSIGNED, "when" TIMESTAMP, cost DECIMAL(4, 2)>>>>>
) WITH (connector = 'single_file', path = '$inputs/types.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out SELECT u32 + 1 AS a, u32 - 4294967295 AS b, u64 / 2 AS c, u32 * 2 AS d, u32::INT UNSIGNED AS e, (u32 % 10)::TINYINT UNSIGNED AS f
FROM types;
