CREATE TABLE first (
  timestamp TIMESTAMP, counter BIGINT UNSIGNED NOT NULL, subtask_index BIGINT UNSIGNED NOT NULL
) WITH (
  connector = 'single_file', path = '$inputs/impulse.json', format = 'json', type = 'source', event_time_field = timestamp
);
CREATE TABLE second (
  timestamp TIMESTAMP, counter BIGINT UNSIGNED NOT NULL, subtask_index BIGINT UNSIGNED NOT NULL
) WITH (
  connector = 'single_file', path = '$inputs/impulse.json', format = 'json', type = 'source', event_time_field = timestamp
);
CREATE TABLE output (counter BIGINT, source TEXT) WITH (
  connector = 'single_file', path = '$output', format = 'json', type = 'sink'
);
INSERT INTO output
SELECT counter, 'first' FROM first
UNION ALL
SELECT counter, 'second' FROM second;
