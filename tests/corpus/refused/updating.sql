-- An aggregate needs a window.
--: error sql.updating 5:48
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT key, count(*) AS n FROM events GROUP BY key;
