-- What cannot be read is pointed at.
--: error sql.syntax 5:17 unexpected 'WHERE'
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT key FROM WHERE events;
