-- Functions of the user's make keys, aggregate again in the same window, and stand before OVER.
--: plan yes
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out
SELECT w, n, total(n) OVER (PARTITION BY w) AS every, total(n) OVER (PARTITION BY w ORDER BY n) AS so_far FROM (
  SELECT w, total(n) AS n FROM (
    SELECT tumble('1 minute') AS w, parity(value) AS p, key, count(*) AS n FROM events GROUP BY w, p, key
  ) GROUP BY w, p
);
