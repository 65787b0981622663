-- Types that there are not, and types that only expressions have, are all named at once.
--: error sql.unknown_type 16:3 type 'TIME' is not supported
--: error sql.table_column 17:3 column 'e' is of type INTERVAL, which no table can hold
--: error sql.unknown_type 18:3 type 'UUID' is not supported
--: error sql.unknown_type 19:3 each member of a STRUCT needs a name
--: error sql.unknown_type 20:3 an array needs the type of its elements
--: error sql.unknown_type 21:3 DECIMAL(40, 2) is not supported
--: error sql.unknown_type 22:3 DECIMAL takes up to two whole numbers
--: error sql.unknown_type 23:3 type 'MAP<TEXT, INT>' is not supported
--: error sql.table_column 24:3 column 'l' has no type
--: error sql.duplicate_name 25:3 member 'A' is declared twice
CREATE TABLE t (
  a TINYINT,
  b SMALLINT,
  c DATE,
  d TIME,
  e INTERVAL,
  f UUID,
  g STRUCT<INT>,
  h ARRAY,
  i DECIMAL(40, 2),
  j DECIMAL(1, 2, 3),
  k MAP<TEXT, INT>,
  l,
  m STRUCT<a INT, A INT>
) WITH (connector = 'single_file', path = '/t.json', format = 'json', type = 'source');
SELECT a FROM t;
