CREATE TABLE cars (
  timestamp TIMESTAMP, driver_id BIGINT, event_type TEXT, location TEXT
) WITH (
  connector = 'single_file', path = '$inputs/cars.json', format = 'json', type = 'source', event_time_field = timestamp
);
CREATE TABLE output (timestamp TIMESTAMP, driver_id BIGINT, event_type TEXT, location TEXT) WITH (
  connector = 'single_file', path = '$output', format = 'json', type = 'sink'
);
INSERT INTO output SELECT * FROM cars WHERE driver_id = 100 AND event_type = 'pickup';
INSERT INTO output SELECT * FROM cars WHERE driver_id = 101 AND event_type = 'dropoff';
