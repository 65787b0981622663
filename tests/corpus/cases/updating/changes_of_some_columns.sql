-- What is not selected need not be read, and a change of it alone is none.
--: plan yes
--: rows yes
CREATE TABLE orders (id INT PRIMARY KEY, customer TEXT, amount BIGINT, paid BOOLEAN NOT NULL, at TIMESTAMP)
WITH (connector = 'single_file', path = '$inputs/orders.jsonl', format = 'debezium_json', type = 'source');
CREATE TABLE output WITH (connector = 'single_file', path = '$output', format = 'debezium_json', type = 'sink');
INSERT INTO output SELECT customer, amount * 2 AS twice FROM orders WHERE amount < 100;
