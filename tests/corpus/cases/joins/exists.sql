-- EXISTS is true of the rows that meet another row, NOT EXISTS of those that meet none; both come as they are.
--: plan yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE clicks (at TIMESTAMP NOT NULL, key TEXT, page TEXT)
WITH (connector = 'single_file', path = '$inputs/clicks.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE changes WITH (connector = 'single_file', path = '$output', format = 'debezium_json', type = 'sink');
SELECT e.key, value FROM events AS e WHERE EXISTS (SELECT 1 FROM clicks AS c WHERE c.key = e.key AND length(c.page) < e.value);
INSERT INTO changes SELECT * FROM events AS e WHERE active AND NOT EXISTS (SELECT * FROM clicks WHERE key = e.key AND page > 'a');
