-- A sink is not read.
--: error sql.wrong_direction 6:15 table 'out' is a sink and cannot be read
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out (k TEXT, v BIGINT) WITH (connector = 'blackhole');
SELECT k FROM out;
