CREATE TABLE cars (
  timestamp TIMESTAMP NOT NULL, driver_id BIGINT, event_type TEXT, location TEXT,
  WATERMARK FOR timestamp AS timestamp - INTERVAL '1 hour'
) WITH (connector = 'single_file', path = '$inputs/cars.json', format = 'json', type = 'source');
CREATE TABLE output (start TIMESTAMP, end TIMESTAMP, driver_id BIGINT, count BIGINT, row_number BIGINT) WITH (
  connector = 'single_file', path = '$output', format = 'json', type = 'sink'
);
INSERT INTO output
SELECT window.start, window.end, driver_id, count, row_number FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY window ORDER BY count DESC, driver_id DESC) AS row_number FROM (
    SELECT driver_id, hop(INTERVAL '1 minute', INTERVAL '1 hour') AS window, count(*) AS count
    FROM cars GROUP BY driver_id, window
  )
) WHERE row_number = 1;
