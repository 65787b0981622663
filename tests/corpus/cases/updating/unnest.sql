-- A row that changes changes only those elements that differ; the others stay.
--: plan yes
--: rows yes
CREATE TABLE orders (id INT PRIMARY KEY, customer TEXT, amount BIGINT, paid BOOLEAN NOT NULL, at TIMESTAMP)
WITH (connector = 'single_file', path = '$inputs/orders.jsonl', format = 'debezium_json', type = 'source');
CREATE TABLE output WITH (connector = 'single_file', path = '$output', format = 'debezium_json', type = 'sink');
INSERT INTO output SELECT id, unnest(['a', customer, 'a']) AS who FROM orders;
