-- Functions that SQL spells in a way of their own, and clocks without parentheses.
--: plan yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out SELECT
  overlay(key PLACING 'x' FROM 2 FOR 3) AS a, overlay(key PLACING 'x' FROM 2) AS b, overlay(key, 'x', 2) AS c,
  position('x' IN key) AS d, substring(key FROM 2 FOR 3) AS e, trim(LEADING 'x' FROM key) AS f, extract(EPOCH FROM at) AS g,
  current_date AS h, current_timestamp AS i, CURRENT_TIME AS j, now() AS k, at < now() AS l,
  key !~* 'x' AS m, key NOT ILIKE 'x%' AS n, key ~~ 'x%' AS o, active IS NOT UNKNOWN AS p,
  arrow_cast(value, 'Int32') AS q, arrow_cast(value, 'Timestamp(Second, None)') AS r, arrow_typeof(value) AS s,
  at + INTERVAL '1 month' AS t, at - INTERVAL '1 year 2 months 3 days' AS u, INTERVAL '2' YEAR + at::DATE AS v,
  value & 6 | 1 # 3 AS w, value << 2 >> 1 AS x
FROM events;
