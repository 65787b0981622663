-- EXCEPT ALL and INTERSECT ALL within windows.
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
CREATE VIEW counts AS SELECT tumble('5 minutes') AS w, key, count(*) > 0 AS some FROM events GROUP BY 1, 2;
INSERT INTO out
SELECT 'except' AS what, w, some FROM (SELECT w, some FROM counts EXCEPT ALL SELECT w, some FROM counts WHERE key = 'a')
UNION ALL
SELECT 'intersect' AS what, w, some FROM (SELECT w, some FROM counts INTERSECT ALL SELECT w, some FROM counts WHERE key IN ('a', 'b'));
