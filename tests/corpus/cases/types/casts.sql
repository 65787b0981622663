-- What a cast makes of values; from a number to a TIMESTAMP it counts seconds, the other way nanoseconds.
--: rows yes
CREATE TABLE types (
  at TIMESTAMP NOT NULL, b BOOLEAN, i32 INT, u32 INT UNSIGNED, i64 BIGINT, u64 BIGINT UNSIGNED, f32 FLOAT, f64 DOUBLE,
  d DECIMAL(10, 2), big DECIMAL(38, 0), t TEXT, raw BYTEA, t0 TIMESTAMP(0), t3 TIMESTAMP(3), j JSON,
  s STRUCT<a STRUCT<b STRUCT<c ARRAY<STRUCT<d INT UNSIGNED, "when" TIMESTAMP, cost DECIMAL(4, 2)>>>>>
) WITH (connector = 'single_file', path = '$inputs/types.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out
SELECT i64::TEXT AS a, u32::BIGINT AS b, f64::INT AS c, d::BIGINT AS d, d::TEXT AS e, f32::TEXT AS f, b::INT AS g, b::TEXT AS h,
  at::DATE AS i, at::TEXT AS j, at::BIGINT AS k, (i32 + 2147483648)::TIMESTAMP AS l, raw::TEXT = '' AS m, t::BYTEA AS n, f32::DECIMAL(5, 1) AS o,
  TRY_CAST(t AS BIGINT) AS p, TRY_CAST(i64 AS INT UNSIGNED) AS q, TRY_CAST(big AS BIGINT) AS r, DATE '2024-02-29'::TEXT AS s,
  TIMESTAMP '2024-01-01' + INTERVAL '1 day' AS u, INTERVAL '1.5 hours'::TEXT AS v, (t0 - t3)::TEXT AS w
FROM types WHERE at < '2024-01-01 00:00:03' AND i64 = 0;
