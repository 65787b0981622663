-- All rows go into the one sink.
--: plan yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE s (a TEXT) WITH (connector = 'blackhole');
INSERT INTO s SELECT key FROM events WHERE value = 1;
INSERT INTO s SELECT value FROM events WHERE value = 2;
INSERT INTO S SELECT 'x' FROM events;
