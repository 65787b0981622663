-- With json.include_schema every change comes in the envelope that Kafka Connect asks for.
--: rows yes
CREATE TABLE orders (id INT PRIMARY KEY, customer TEXT, amount BIGINT, paid BOOLEAN NOT NULL, at TIMESTAMP)
WITH (connector = 'single_file', path = '$inputs/orders.jsonl', format = 'debezium_json', type = 'source');
CREATE TABLE output (id INT, at TIMESTAMP)
WITH (connector = 'single_file', path = '$output', format = 'debezium_json', 'json.include_schema' = true, type = 'sink');
INSERT INTO output SELECT id, at FROM orders WHERE customer = 'ann';
