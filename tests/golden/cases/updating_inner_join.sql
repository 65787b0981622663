CREATE TABLE impulse (
  timestamp TIMESTAMP, counter BIGINT UNSIGNED NOT NULL, subtask_index BIGINT UNSIGNED NOT NULL
) WITH (
  connector = 'single_file', path = '$inputs/impulse.json', format = 'json', type = 'source', event_time_field = timestamp
);
CREATE TABLE output (left_count BIGINT, right_count BIGINT) WITH (
  connector = 'single_file', path = '$output', format = 'debezium_json', type = 'sink'
);
CREATE VIEW odd AS SELECT counter FROM impulse WHERE counter % 2 = 1;
INSERT INTO output SELECT a.counter, b.counter FROM impulse AS a JOIN odd AS b ON a.counter = b.counter;
