-- Other constraints are refused, for the table and behind a column.
--: error sql.table_column 12:3 this table constraint is not supported
--: error sql.table_column 13:3 this table constraint is not supported
--: error sql.table_column 14:3 DEFAULT 1 is not supported after a column
--: error sql.table_column 15:3 UNIQUE is not supported after a column
--: error sql.table_column 16:3 CHECK (d > 1) is not supported after a column
--: error sql.table_column 17:3 REFERENCES x (y) is not supported after a column
--: error sql.table_column 18:3 IN is not supported after a column
CREATE TABLE t (
  a INT,
  PRIMARY KEY (a),
  CONSTRAINT positive CHECK (a > 1),
  UNIQUE (a),
  b INT DEFAULT 1,
  c INT UNIQUE,
  d INT CHECK (d > 1),
  e INT REFERENCES x(y),
  f IN BIGINT
) WITH (connector = 'single_file', path = '/t.json', format = 'json', type = 'source');
SELECT a FROM t;
