-- Windows go on, also when Spark can tell that no row will pass what is asked of them.
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
CREATE VIEW w AS SELECT tumble('1 minute') AS window, key, count(*) AS n FROM events GROUP BY window, key;
INSERT INTO out SELECT key, place FROM (
  SELECT key, row_number() OVER (PARTITION BY window ORDER BY n, key) AS place FROM w
) WHERE place = 1 AND false;
