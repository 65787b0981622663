-- A window is named as it is written; a name that is nearly one is told.
--: error sql.unknown_function 5:38 there is no function 'tumbel'
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT count(*) FROM events GROUP BY tumbel(INTERVAL '1 minute');
