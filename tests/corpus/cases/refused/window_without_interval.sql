-- A window has a length.
--: error sql.window_argument 5:8 5 is not a constant length of time
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT tumble(5) AS w, count(*) AS n FROM events GROUP BY w;
