CREATE TABLE impulse (
  timestamp TIMESTAMP, counter BIGINT UNSIGNED NOT NULL, subtask_index BIGINT UNSIGNED NOT NULL
) WITH (
  connector = 'single_file', path = '$inputs/impulse.json', format = 'json', type = 'source', event_time_field = timestamp
);
CREATE TABLE output (count BIGINT, min BIGINT, max BIGINT, start TIMESTAMP, end TIMESTAMP) WITH (
  connector = 'single_file', path = '$output', format = 'json', type = 'sink'
);
INSERT INTO output
SELECT count, min, max, window.start, window.end FROM (
  SELECT hop(INTERVAL '2 seconds', INTERVAL '10 seconds') AS window,
         count(*) AS count, min(counter) AS min, max(counter) AS max
  FROM impulse GROUP BY window
);
