CREATE TABLE impulse (
  timestamp TIMESTAMP, counter BIGINT UNSIGNED NOT NULL, subtask_index BIGINT UNSIGNED NOT NULL
) WITH (
  connector = 'single_file', path = '$inputs/impulse.json', format = 'json', type = 'source', event_time_field = timestamp
);
CREATE TABLE output (start TIMESTAMP, end TIMESTAMP, user_id BIGINT, rows BIGINT) WITH (
  connector = 'single_file', path = '$output', format = 'json', type = 'sink'
);
INSERT INTO output
SELECT window.start, window.end, user_id, rows FROM (
  SELECT session(INTERVAL '20 seconds') AS window,
         CASE WHEN counter % 10 = 0 THEN 0 ELSE counter END AS user_id,
         count(*) AS rows
  FROM impulse GROUP BY window, user_id
);
