-- A key that the connector does not have, a key of another type, and no key at all.
--: error sql.table_column 7:3 there is no metadata field 'file'
--: error sql.table_column 8:3 metadata field 'filename' is of type TEXT, not INT
--: error sql.table_column 9:3 there is no metadata field ''
CREATE TABLE t (
  a INT,
  b TEXT METADATA FROM 'file',
  c INT METADATA FROM 'filename',
  d TEXT METADATA FROM ''
) WITH (connector = 'filesystem', path = '/t', format = 'json', type = 'source');
SELECT a FROM t;
