CREATE TABLE impulse (
  timestamp TIMESTAMP, counter BIGINT UNSIGNED NOT NULL, subtask_index BIGINT UNSIGNED NOT NULL
) WITH (
  connector = 'single_file', path = '$inputs/impulse.json', format = 'json', type = 'source', event_time_field = timestamp
);
CREATE TABLE output (counter BIGINT) WITH (
  connector = 'single_file', path = '$output', format = 'json', type = 'sink'
);
INSERT INTO output
SELECT slow_double_negative(counter) FROM impulse;
