-- Aggregates under their names of Flink, Spark and Postgres.
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out
SELECT tumble(INTERVAL '1 minute') AS w, count_if(value > 1) AS c, max_by(key, value) AS most, min_by(key, value) AS least,
  any_value(value) AS some, listagg(key, '+') AS keys, every(value > 0) AS positive, any_value(value) FILTER (WHERE value > 2) AS big
FROM events GROUP BY 1;
