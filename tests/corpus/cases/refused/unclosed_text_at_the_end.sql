-- A quote that nothing follows is not closed either.
--: error sql.syntax 5:26 ' is not closed
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT value FROM events '