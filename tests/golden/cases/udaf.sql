CREATE TABLE impulse (
  timestamp TIMESTAMP, counter BIGINT UNSIGNED NOT NULL, subtask_index BIGINT UNSIGNED NOT NULL
) WITH (
  connector = 'single_file', path = '$inputs/impulse.json', format = 'json', type = 'source', event_time_field = timestamp
);
CREATE TABLE output (median BIGINT, none_value DOUBLE, max_product BIGINT) WITH (
  connector = 'single_file', path = '$output', format = 'json', type = 'sink'
);
INSERT INTO output
SELECT my_median(counter), none_of(counter), max_product(counter, subtask_index)
FROM impulse GROUP BY tumble(INTERVAL '30 days');
