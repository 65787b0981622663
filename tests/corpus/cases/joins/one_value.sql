-- A sub-query for one value is joined to the rows that ask for it; a count of no rows is zero.
--: plan yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE clicks (at TIMESTAMP NOT NULL, key TEXT, page TEXT)
WITH (connector = 'single_file', path = '$inputs/clicks.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE changes WITH (connector = 'single_file', path = '$output', format = 'debezium_json', type = 'sink');
INSERT INTO changes SELECT key, (SELECT count(*) FROM clicks AS c WHERE c.key = e.key AND page > 'a') AS n FROM events AS e
WHERE value < (SELECT sum(length(page)) FROM clicks);
