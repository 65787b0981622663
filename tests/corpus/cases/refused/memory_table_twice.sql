-- A memory table is written once.
--: error sql.memory_table 7:13 a memory table takes one INSERT only
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE m (k TEXT);
INSERT INTO m SELECT key FROM events;
INSERT INTO m SELECT key FROM events;
SELECT k FROM m;
