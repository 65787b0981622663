-- Sessions are windows like any other.
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE clicks (at TIMESTAMP NOT NULL, key TEXT, page TEXT)
WITH (connector = 'single_file', path = '$inputs/clicks.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
CREATE VIEW e AS SELECT tumble('2 minutes') AS window, key, count(*) AS n, max(value) AS v FROM events GROUP BY window, key;
INSERT INTO out SELECT w.start, n, rank() OVER (PARTITION BY w ORDER BY n) AS place, sum(n) OVER (PARTITION BY w) AS s FROM (
  SELECT session('40 seconds') AS w, key, count(*) AS n FROM events GROUP BY w, key
);
