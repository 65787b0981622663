-- Functions that we compute ourselves stand wherever others do: in filters, keys, aggregates, HAVING and the epoch part.
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
CREATE VIEW hours AS
SELECT tumble('1 hour') AS window, gcd(value, 2) AS is_even, sum(lcm(value, 6)) AS total
FROM events WHERE lcm(value, 2) < 13
GROUP BY window, gcd(value, 2) HAVING gcd(sum(value), 1) = 1;
INSERT INTO out SELECT window.start AS start, max(lcm(total, 4)) AS most FROM hours WHERE gcd(total, 6) > 1 GROUP BY window;
