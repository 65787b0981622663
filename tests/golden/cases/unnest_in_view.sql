CREATE TABLE impulse (
  timestamp TIMESTAMP, counter BIGINT UNSIGNED NOT NULL, subtask_index BIGINT UNSIGNED NOT NULL
) WITH (
  connector = 'single_file', path = '$inputs/impulse.json', format = 'json', type = 'source', event_time_field = timestamp
);
CREATE TABLE output (counter BIGINT) WITH (
  connector = 'single_file', path = '$output', format = 'json', type = 'sink'
);
CREATE VIEW gathered AS SELECT array_agg(counter) AS counters FROM impulse GROUP BY tumble(INTERVAL '1 day');
CREATE VIEW counters AS SELECT unnest(counters) AS counter FROM gathered;
INSERT INTO output SELECT counter FROM counters;
