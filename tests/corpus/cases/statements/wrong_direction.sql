-- A source is read, a sink is written.
--: error sql.wrong_direction 7:13 table 'events' is a source and cannot be inserted into
--: error sql.wrong_direction 8:15 table 's' is a sink and cannot be read
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE s (a TEXT) WITH (connector = 'blackhole');
INSERT INTO events SELECT at, key, value, active FROM events;
SELECT a FROM s;
