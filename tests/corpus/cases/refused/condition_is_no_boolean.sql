-- A condition is true or false.
--: error sql.type_mismatch 6:7 a condition must be BOOLEAN, not BIGINT
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT key FROM events
WHERE value;
