-- The star is of a table that is there.
--: error sql.unknown_table 7:8 there is no table 'events' in FROM
--: error sql.unknown_table 8:8 there is no table 'x' in FROM
--: error sql.unknown_column 9:15 there is no column 'events' here
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT events.* FROM events AS e;
SELECT x.* FROM events;
SELECT e.key, events.key FROM events AS e;
