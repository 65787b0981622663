CREATE TABLE cars (
  timestamp TIMESTAMP NOT NULL, driver_id BIGINT, event_type TEXT, location TEXT,
  WATERMARK FOR timestamp
) WITH (
  connector = 'single_file', path = '$inputs/cars.json', format = 'json', type = 'source'
);
CREATE TABLE output (timestamp TIMESTAMP, count BIGINT) WITH (
  connector = 'single_file', path = '$output', format = 'json', type = 'sink'
);
CREATE VIEW hourly AS
SELECT tumble(INTERVAL '1 hour') AS window, count(*) AS count FROM cars GROUP BY window;
INSERT INTO output SELECT window.end, count FROM hourly;
