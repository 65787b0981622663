-- A name is never code.
--: error sql.unknown_column 5:8 there is no column "key`), reflect('a', 'b'" here
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT "key`), reflect('a', 'b'" AS x FROM events;
