-- NOT IN passes over rows of which it is not known: those without a value, and all once the other relation has a NULL.
--: plan yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE clicks (at TIMESTAMP NOT NULL, key TEXT, page TEXT)
WITH (connector = 'single_file', path = '$inputs/clicks.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE changes WITH (connector = 'single_file', path = '$output', format = 'debezium_json', type = 'sink');
INSERT INTO changes SELECT key, value FROM events WHERE key NOT IN (SELECT key FROM clicks WHERE page = 'x');
INSERT INTO changes SELECT key, value FROM events WHERE at NOT IN (SELECT at FROM clicks);
