-- OVER may stand where the aggregates are computed, and aggregate them.
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE clicks (at TIMESTAMP NOT NULL, key TEXT, page TEXT)
WITH (connector = 'single_file', path = '$inputs/clicks.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
CREATE VIEW e AS SELECT tumble('2 minutes') AS window, key, count(*) AS n, max(value) AS v FROM events GROUP BY window, key;
INSERT INTO out SELECT hop('1 minute', '2 minutes') AS w, key, count(*) AS n, sum(count(*)) OVER (PARTITION BY w) AS total,
  row_number() OVER (PARTITION BY hop('1 minute', '2 minutes') ORDER BY n DESC, key) AS place
FROM events GROUP BY w, key HAVING count(*) > 0;
