-- A source is read once for all sinks.
--: plan yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE s (a TEXT) WITH (connector = 'blackhole');
CREATE TABLE t (n BIGINT) WITH (connector = 'blackhole');
INSERT INTO s SELECT key FROM events;
INSERT INTO t SELECT value FROM events;
SELECT active FROM events;
SELECT at FROM events;
