-- The list of columns is welcome when it says what the position says.
--: plan yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE s (a TEXT, b BIGINT) WITH (connector = 'blackhole');
INSERT INTO s (A, b) SELECT key, value FROM events;
