-- A window groups.
--: error sql.not_grouped 6:8 column 'key' is neither in GROUP BY nor inside an aggregate
--: error sql.window_context 6:13 tumble(1 minute) is selected, but GROUP BY has no window
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT key, tumble(INTERVAL '1 minute') AS w FROM events;
