-- A column becomes what its sink holds, or is refused.
--: error sql.type_mismatch 6:13 column 'v' of out is of type BOOLEAN[], to which TEXT cannot be cast
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out (v BOOLEAN[]) WITH (connector = 'blackhole');
INSERT INTO out SELECT key FROM events;
