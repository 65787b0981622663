-- A source may have columns of all these types.
--: plan yes
CREATE TABLE t (
  a BOOLEAN, b BOOL, c INT, d INTEGER, e BIGINT, f INT UNSIGNED, g BIGINT UNSIGNED, h FLOAT, i REAL, j DOUBLE,
  k DOUBLE PRECISION, l DECIMAL(10, 2), m NUMERIC(5), n TEXT, o VARCHAR(10), p CHAR(3), q STRING, r TIMESTAMP,
  s TIMESTAMP(3), t TIMESTAMP(9), u DATETIME, v BYTEA, w JSON, x STRUCT<a INT, b STRUCT<c TEXT>>, y TEXT[],
  z ARRAY<INT>, aa INT[][], bb ARRAY<STRUCT<a INT>>
) WITH (connector = 'single_file', path = '/t.json', format = 'json', type = 'source');
SELECT * FROM t;
