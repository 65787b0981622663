-- By alias of the SELECT list, with every aggregate.
--: plan yes
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out
SELECT tumble(INTERVAL '1 minute') AS window, count(*) AS n, count(value) AS v, sum(value) AS s, min(value) AS lo,
  max(value) AS hi, avg(value) AS mean
FROM events GROUP BY window;
