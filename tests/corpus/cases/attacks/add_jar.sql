-- No code is loaded.
--: error sql.unsupported_statement 5:1 a statement cannot begin with ADD
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
ADD JAR '/tmp/evil.jar';
SELECT key FROM events;
