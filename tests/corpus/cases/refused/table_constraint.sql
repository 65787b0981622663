-- A table has no constraints of its own.
--: error sql.table_column 3:32 this table constraint is not supported
CREATE TABLE events (key TEXT, CHECK (key <> ''))
WITH (connector = 'single_file', path = '/e', format = 'json', type = 'source');
SELECT key FROM events;
