CREATE TABLE orders (
  id INT PRIMARY KEY, customer_name TEXT, product_name TEXT, quantity INT, price FLOAT, order_date TIMESTAMP, status TEXT
) WITH (
  connector = 'single_file', path = '$inputs/aggregate_updates.json', format = 'debezium_json', type = 'source',
  'json.timestamp_format' = 'unix_micros'
);
CREATE TABLE output (
  id INT, customer_name TEXT, product_name TEXT, quantity INT, price FLOAT, order_date TIMESTAMP, status TEXT
) WITH (connector = 'single_file', path = '$output', format = 'debezium_json', type = 'sink');
INSERT INTO output SELECT * FROM orders;
