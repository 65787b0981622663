-- A source is not written.
--: error sql.wrong_direction 5:13 table 'events' is a source and cannot be inserted into
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
INSERT INTO events SELECT at, key, value, active FROM events;
