CREATE TABLE impulse (
  timestamp TIMESTAMP, counter BIGINT UNSIGNED NOT NULL, subtask_index BIGINT UNSIGNED NOT NULL
) WITH (
  connector = 'single_file', path = '$inputs/impulse.json', format = 'json', type = 'source', event_time_field = timestamp
);
CREATE TABLE output (min BIGINT, max BIGINT, sum BIGINT, count BIGINT, avg DOUBLE) WITH (
  connector = 'single_file', path = '$output', format = 'debezium_json', type = 'sink'
);
INSERT INTO output SELECT min(counter), max(counter), sum(counter), count(*), avg(counter) FROM impulse;
