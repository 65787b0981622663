-- All ways to rank rows within their window; NULL is the greatest.
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE clicks (at TIMESTAMP NOT NULL, key TEXT, page TEXT)
WITH (connector = 'single_file', path = '$inputs/clicks.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
CREATE VIEW e AS SELECT tumble('2 minutes') AS window, key, count(*) AS n, max(value) AS v FROM events GROUP BY window, key;
INSERT INTO out SELECT window.start, key, n,
  row_number() OVER (PARTITION BY window ORDER BY n DESC, key) AS number,
  rank() OVER (PARTITION BY window ORDER BY n) AS rank,
  dense_rank() OVER (PARTITION BY window ORDER BY n) AS dense,
  percent_rank() OVER (PARTITION BY window ORDER BY n) AS part,
  cume_dist() OVER (PARTITION BY window ORDER BY n) AS share,
  ntile(2) OVER (PARTITION BY window ORDER BY key) AS half,
  rank() OVER (PARTITION BY window) AS peers
FROM e;
