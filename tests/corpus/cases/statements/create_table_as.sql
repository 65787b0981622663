-- CREATE TABLE AS is the same as a view.
--: plan yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE big AS SELECT key, value FROM events WHERE value > 100;
SELECT key FROM big;
