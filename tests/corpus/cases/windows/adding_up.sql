-- Windows that begin with the day and end every eight hours.
--: plan yes
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT)
WITH (connector = 'single_file', path = '$inputs/summer_time.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out
SELECT cumulate(INTERVAL '8 hours', INTERVAL '1 day') AS w, sum(value) AS total, count(DISTINCT key) AS keys FROM events GROUP BY 1;
