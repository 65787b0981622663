CREATE TABLE cars (value JSON) WITH (
  connector = 'single_file', path = '$inputs/cars.json', format = 'json', type = 'source', 'json.unstructured' = 'true'
);
CREATE TABLE output WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO output
SELECT 'test' AS a, value -> 'driver_id' AS b, value -> 'event_type' AS c, value -> 'not_a_field' AS d FROM cars;
