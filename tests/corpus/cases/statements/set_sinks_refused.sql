-- Sinks can be shown, and nothing else.
--: error sql.unknown_setting 5:13 sinks can be 'preview' only
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
SET sinks = 'stdout';
SELECT key FROM events;
