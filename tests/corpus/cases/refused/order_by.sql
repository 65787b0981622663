-- A stream has no end that could be put in order.
--: error sql.unsupported 5:24 ORDER BY is not supported
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT key FROM events ORDER BY key;
