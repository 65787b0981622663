-- Clocks and chance work in rows, in filters and over closed windows.
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
CREATE VIEW rows AS SELECT at, length(uuid()) AS size, random() AS chance, now() > at AS is_past FROM events
WHERE current_date > '2024-01-01' AND random() < 2;
CREATE VIEW minutes AS SELECT tumble('1 minute') AS w, count(*) AS n, max(chance) < 1 AS below, min(size) AS size FROM rows
WHERE is_past GROUP BY w;
INSERT INTO out SELECT w.start AS start, sum(n) AS n, min(size) AS size, min(now()) > w.end AS is_past FROM minutes WHERE below GROUP BY w;
