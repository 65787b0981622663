-- A window groups.
--: error sql.window_context 5:13
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT key, tumble(INTERVAL '1 minute') AS w FROM events;
