-- Several columns, expressions and conditions may be counted once, by key, and min and max are the same anyway.
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out SELECT w.start, active, keys, odd, mean, most, all_keys, least, has_a FROM (SELECT hop('1 minute', '2 minutes') AS w, active, count(DISTINCT key) AS keys, sum(DISTINCT value % 2) AS odd,
  avg(DISTINCT value) FILTER (WHERE value > 0) AS mean, max(DISTINCT value) AS most, string_agg(DISTINCT key, '+' ORDER BY key DESC) AS all_keys,
  min(value) AS least, bool_or(key = 'a') AS has_a
FROM events GROUP BY w, active);
