-- A source whose connector brings no columns of its own needs some.
--: error sql.table_column 3:14 source t has no columns
CREATE TABLE t WITH (connector = 'single_file', path = '/t.json', format = 'json', type = 'source');
SELECT * FROM t;
