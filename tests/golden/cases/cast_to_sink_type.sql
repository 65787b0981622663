CREATE TABLE cars (
  timestamp TIMESTAMP, driver_id BIGINT, event_type TEXT, location TEXT
) WITH (
  connector = 'single_file', path = '$inputs/cars.json', format = 'json', type = 'source', event_time_field = timestamp
);
CREATE TABLE output (timestamp TIMESTAMP, driver_id TEXT) WITH (
  connector = 'single_file', path = '$output', format = 'json', type = 'sink'
);
INSERT INTO output SELECT timestamp, driver_id FROM cars;
