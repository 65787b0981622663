CREATE TABLE cars (
  timestamp TIMESTAMP, driver_id BIGINT, event_type TEXT, location TEXT
) WITH (
  connector = 'single_file', path = '$inputs/cars.json', format = 'json', type = 'source', event_time_field = timestamp
);
CREATE TABLE memory (event_type TEXT, location TEXT, driver_id BIGINT);
CREATE TABLE output (driver_id BIGINT, event_type TEXT) WITH (
  connector = 'single_file', path = '$output', format = 'json', type = 'sink'
);
INSERT INTO memory SELECT event_type, location, driver_id FROM cars;
INSERT INTO output SELECT driver_id, event_type FROM memory;
