-- Rows that are taken back can be ranked too; then all of them are kept, since any of them may become the best.
--: plan yes
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE changes WITH (connector = 'single_file', path = '$output', format = 'debezium_json', type = 'sink');
INSERT INTO changes SELECT key, rank() OVER (ORDER BY count(*) DESC) AS place FROM events GROUP BY key;
INSERT INTO changes SELECT key, d FROM (
  SELECT key, dense_rank() OVER (PARTITION BY active ORDER BY max(value)) AS d FROM events GROUP BY key, active
) WHERE d BETWEEN 2 AND 3;
