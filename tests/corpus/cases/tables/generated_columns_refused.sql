-- A generated column sees the columns of the record only, and gives a value that fits.
--: error sql.unknown_column 9:30 there is no column 'notfield' here
--: error sql.unknown_column 10:30 there is no column 'd' here
--: error sql.type_mismatch 12:36 column 'e' is of type TIMESTAMP, to which BOOLEAN cannot be cast
--: error sql.unsupported 13:30 aggregate sum is not allowed here
--: error sql.window_context 14:30 window function tumble is not allowed here
CREATE TABLE t (
  a INT,
  b INT GENERATED ALWAYS AS (notfield + 1),
  c INT GENERATED ALWAYS AS (d) STORED,
  d INT GENERATED ALWAYS AS (a),
  e TIMESTAMP GENERATED ALWAYS AS (a = 1),
  f INT GENERATED ALWAYS AS (sum(a)),
  g INT GENERATED ALWAYS AS (tumble(INTERVAL '1 minute'))
) WITH (connector = 'single_file', path = '/t.json', format = 'json', type = 'source');
SELECT a FROM t;
