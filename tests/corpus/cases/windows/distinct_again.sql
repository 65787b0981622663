-- Of a window that is carried on, different values are counted within the epoch.
--: plan yes
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out SELECT w.start, sizes, keys FROM (
  SELECT w, count(DISTINCT n) AS sizes, count(DISTINCT key) FILTER (WHERE n = 1) AS keys FROM (
    SELECT tumble('2 minutes') AS w, key, count(*) AS n FROM events GROUP BY w, key
  ) GROUP BY w
);
