-- INTERSECT and EXCEPT compare whole rows, NULL with NULL, and give each once; within windows they change nothing afterwards.
--: plan yes
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE clicks (at TIMESTAMP NOT NULL, key TEXT, page TEXT)
WITH (connector = 'single_file', path = '$inputs/clicks.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE changes WITH (connector = 'single_file', path = '$output', format = 'debezium_json', type = 'sink');
CREATE VIEW e AS SELECT tumble('1 minute') AS window, key FROM events GROUP BY window, key;
CREATE VIEW c AS SELECT tumble('1 minute') AS window, key FROM clicks GROUP BY window, key;
INSERT INTO changes SELECT key, length(key) AS n FROM events INTERSECT SELECT key, CAST(length(key) AS BIGINT) FROM clicks;
INSERT INTO changes SELECT key, 0 FROM (SELECT * FROM e EXCEPT SELECT * FROM c);
