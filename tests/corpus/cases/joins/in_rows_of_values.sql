-- Several values are in a sub-query together; = ANY and <> ALL ask what IN and NOT IN do.
--: plan yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE clicks (at TIMESTAMP NOT NULL, key TEXT, page TEXT)
WITH (connector = 'single_file', path = '$inputs/clicks.jsonl', format = 'json', type = 'source', event_time_field = 'at');
SELECT key FROM events WHERE (key, value) IN (SELECT key, length(page) FROM clicks WHERE page > 'a');
SELECT key FROM events WHERE key = ANY (SELECT key FROM clicks);
SELECT value FROM events WHERE at <> ALL (SELECT at FROM clicks);
SELECT value FROM events WHERE ROW(at, at) NOT IN (SELECT c.at, at FROM clicks AS c);
