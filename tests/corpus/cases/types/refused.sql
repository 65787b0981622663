-- Casts that there are not, and constants that cannot be read.
--: error sql.type_mismatch 19:24 a value of type TIMESTAMP cannot be cast to BOOLEAN
--: error sql.type_mismatch 19:37 a value of type DATE cannot be cast to INT
--: error sql.type_mismatch 19:47 a value of type DOUBLE cannot be cast to TIMESTAMP
--: error sql.type_mismatch 19:63 a value of type TEXT cannot be cast to INTERVAL
--: error sql.type_mismatch 19:76 a value of type BYTEA cannot be cast to BIGINT
--: error sql.type_mismatch 19:89 a value of type BOOLEAN cannot be cast to DECIMAL(5, 1)
--: error sql.unknown_type 20:24 type 'TIME' is not supported
--: error sql.unknown_type 21:24 type 'TIME' is not supported
--: error sql.type_mismatch 22:24 x'0' is not a valid BYTEA literal
--: error sql.bad_duration 23:24 '1 month' has no fixed length
--: error sql.type_mismatch 24:24 'abc' is not a BOOLEAN
CREATE TABLE types (
  at TIMESTAMP NOT NULL, b BOOLEAN, i32 INT, u32 INT UNSIGNED, i64 BIGINT, u64 BIGINT UNSIGNED, f32 FLOAT, f64 DOUBLE,
  d DECIMAL(10, 2), big DECIMAL(38, 0), t TEXT, raw BYTEA, t0 TIMESTAMP(0), t3 TIMESTAMP(3), j JSON,
  s STRUCT<a STRUCT<b STRUCT<c ARRAY<STRUCT<d INT UNSIGNED, "when" TIMESTAMP, cost DECIMAL(4, 2)>>>>>
) WITH (connector = 'single_file', path = '$inputs/types.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out SELECT at::BOOLEAN, day::INT, f64::TIMESTAMP, t::INTERVAL, raw::BIGINT, b::DECIMAL(5, 1) FROM (SELECT *, at::DATE AS day FROM types) AS t;
INSERT INTO out SELECT t::TIME AS x FROM types;
INSERT INTO out SELECT TIME '10:00' AS x FROM types;
INSERT INTO out SELECT x'0' AS x FROM types;
INSERT INTO out SELECT '1 month'::INTERVAL AS x FROM types;
INSERT INTO out SELECT 'abc'::BOOLEAN AS x FROM types;
