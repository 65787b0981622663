-- A sink is not read.
--: error sql.wrong_direction 6:15 attempted to read from table 'out', but it is a sink
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out (k TEXT, v BIGINT) WITH (connector = 'blackhole');
SELECT k FROM out;
