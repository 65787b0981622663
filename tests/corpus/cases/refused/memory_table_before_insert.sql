-- A memory table is written before it is read.
--: error sql.memory_table 6:15 memory table 'm' is read before anything is inserted into it
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE m (k TEXT);
SELECT k FROM m;
