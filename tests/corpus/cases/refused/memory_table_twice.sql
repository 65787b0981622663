-- A memory table is written once.
--: error sql.memory_table 7:13 Can only insert into a memory table once
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE m (k TEXT);
INSERT INTO m SELECT key FROM events;
INSERT INTO m SELECT key FROM events;
SELECT k FROM m;
