-- An INSERT gives as many columns as the sink takes.
--: error sql.column_count 6:13 out has 2 columns, and 1 are inserted
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out (k TEXT, v BIGINT) WITH (connector = 'blackhole');
INSERT INTO out SELECT key FROM events;
