-- IN lists its values.
--: error sql.unsupported 5:30 IN with a sub-query is not supported
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT key FROM events WHERE key IN (SELECT key FROM events);
