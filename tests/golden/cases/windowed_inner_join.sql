CREATE TABLE cars (timestamp TIMESTAMP, driver_id BIGINT, event_type TEXT, location TEXT) WITH (
  connector = 'single_file', path = '$inputs/cars.json', format = 'json', type = 'source', event_time_field = timestamp
);
CREATE TABLE output (hour TIMESTAMP, drivers BIGINT, pickups BIGINT) WITH (
  connector = 'single_file', path = '$output', format = 'json', type = 'sink'
);
INSERT INTO output
SELECT dropoffs.window.start AS hour, dropoffs.drivers, pickups.drivers AS pickups FROM (
  SELECT tumble(INTERVAL '1 hour') AS window, count(DISTINCT driver_id) AS drivers
  FROM cars WHERE event_type = 'dropoff' GROUP BY window
) AS dropoffs JOIN (
  SELECT tumble(INTERVAL '1 hour') AS window, count(DISTINCT driver_id) AS drivers
  FROM cars WHERE event_type = 'pickup' GROUP BY window
) AS pickups ON dropoffs.window = pickups.window;
