CREATE TABLE cars (
  timestamp TIMESTAMP, driver_id BIGINT, event_type TEXT, location TEXT
) WITH (
  connector = 'single_file', path = '$inputs/cars.json', format = 'json', type = 'source', event_time_field = timestamp
);
CREATE TABLE output (event_type TEXT, hour TIMESTAMP, count BIGINT) WITH (
  connector = 'single_file', path = '$output', format = 'json', type = 'sink'
);
INSERT INTO output
SELECT event_type, window.start, count FROM (
  SELECT event_type, tumble(INTERVAL '1 hour') AS window, count(*) AS count FROM cars GROUP BY event_type, window
);
