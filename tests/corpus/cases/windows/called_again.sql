-- A window that is not selected can be called again: it is known from the time of the rows.
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
CREATE VIEW keys AS SELECT key, n FROM (SELECT hop('1 minute', '90 seconds') AS w, key, count(*) AS n FROM events GROUP BY w, key);
INSERT INTO out SELECT w, n FROM (SELECT hop('1 minute', '90 seconds') AS w, sum(n) AS n FROM keys GROUP BY w);
INSERT INTO out SELECT named_struct('start', CAST(NULL AS TIMESTAMP), 'end', CAST(NULL AS TIMESTAMP)) AS w,
  rank() OVER (PARTITION BY hop('1 minute', '90 seconds') ORDER BY key) AS n FROM keys ORDER BY key DESC LIMIT 2;
