-- A script only declares and inserts.
--: error sql.unsupported_statement 5:1 DROP TABLE is not supported
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
DROP TABLE events;
SELECT key FROM events;
