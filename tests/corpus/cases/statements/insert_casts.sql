-- INSERT goes by position and casts to the types of the sink.
--: plan yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE s (a TEXT, b TIMESTAMP, c DOUBLE, d BIGINT) WITH (connector = 'blackhole');
INSERT INTO s SELECT value, '2024-01-01', value, NULL FROM events;
