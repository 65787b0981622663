-- A LATERAL query is joined by what it looks at: as rows, as groups of them, as one row of aggregates.
--: plan yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE clicks (at TIMESTAMP NOT NULL, key TEXT, page TEXT)
WITH (connector = 'single_file', path = '$inputs/clicks.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE changes WITH (connector = 'single_file', path = '$output', format = 'debezium_json', type = 'sink');
INSERT INTO changes SELECT e.key, page, more AS n FROM events AS e, LATERAL (SELECT page, value + length(page) AS more FROM clicks AS c WHERE c.key = e.key) AS g;
INSERT INTO changes SELECT e.key, page, n FROM events AS e LEFT JOIN LATERAL (SELECT page, count(*) AS n FROM clicks AS c WHERE c.key = e.key GROUP BY page) AS g ON true;
INSERT INTO changes SELECT e.key, last AS page, n FROM events AS e CROSS JOIN LATERAL (SELECT max(page), count(*) FROM clicks AS c WHERE c.key = e.key) AS g(last, n);
INSERT INTO changes SELECT e.key, g.key AS page, length(page)::BIGINT AS n FROM events AS e JOIN LATERAL (SELECT key, page FROM clicks) AS g ON g.key = e.key;
