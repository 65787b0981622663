CREATE TABLE orders (
  id INT PRIMARY KEY, customer_name TEXT, product_name TEXT, quantity INT, price FLOAT, order_date TIMESTAMP, status TEXT
) WITH (connector = 'single_file', path = '$inputs/aggregate_updates.json', format = 'debezium_json', type = 'source');
CREATE TABLE output (id TEXT PRIMARY KEY, c BIGINT, d BIGINT, q BIGINT) WITH (
  connector = 'single_file', path = '$output', format = 'debezium_json', type = 'sink'
);
INSERT INTO output
SELECT concat('p_', product_name), count(*), count(DISTINCT customer_name), sum(quantity + 5) + 10
FROM orders GROUP BY concat('p_', product_name);
