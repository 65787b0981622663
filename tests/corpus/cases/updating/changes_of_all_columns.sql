-- The changes of an epoch come out as one change of each row; a row that came and went does not.
--: rows yes
CREATE TABLE orders (id INT PRIMARY KEY, customer TEXT, amount BIGINT, paid BOOLEAN NOT NULL, at TIMESTAMP)
WITH (connector = 'single_file', path = '$inputs/orders.jsonl', format = 'debezium_json', type = 'source');
CREATE TABLE output WITH (connector = 'single_file', path = '$output', format = 'debezium_json', type = 'sink');
INSERT INTO output SELECT * FROM orders;
