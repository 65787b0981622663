-- A sink without columns takes those of the query, or the names in the INSERT.
--: plan yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE s WITH (connector = 'blackhole');
CREATE TABLE t WITH (connector = 'blackhole');
INSERT INTO s SELECT key AS name, value FROM events;
INSERT INTO t (a, b) SELECT key AS name, value FROM events;
