-- Nor in a generated column.
--: error sql.unknown_function 3:60 there is no function 'reflect'
CREATE TABLE events (key TEXT, x TEXT GENERATED ALWAYS AS (reflect('java.lang.System', 'exit')) STORED)
WITH (connector = 'single_file', path = '/e', format = 'json', type = 'source');
SELECT x FROM events;
