-- What a memory table cannot have, and how it cannot be used.
--: error sql.memory_table 11:14 a table without a connector takes no options
--: error sql.memory_table 12:14 memory table b can only have plain columns
--: error sql.memory_table 13:14 memory table c needs columns
--: error sql.memory_table 15:15 memory table 'd' is read before anything is inserted into it
--: error sql.memory_table 17:13 a memory table takes one INSERT only
--: error sql.wrong_direction 19:13 'v' stands for a query and cannot be inserted into
--: error sql.wrong_direction 21:13 'f' stands for a query and cannot be inserted into
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE a (n INT) WITH (format = 'json');
CREATE TABLE b (n INT, m INT GENERATED ALWAYS AS (n));
CREATE TABLE c WITH (connector = 'memory');
CREATE TABLE d (n BIGINT);
SELECT n FROM d;
INSERT INTO d SELECT value FROM events;
INSERT INTO d SELECT value FROM events;
CREATE VIEW v AS SELECT key FROM events;
INSERT INTO v SELECT key FROM events;
CREATE TABLE f AS SELECT key FROM events;
INSERT INTO f SELECT key FROM events;
