-- A type must be known.
--: error sql.unknown_type 3:22 type 'MONEY' is not supported
CREATE TABLE events (key MONEY)
WITH (connector = 'single_file', path = '/e', format = 'json', type = 'source');
SELECT key FROM events;
