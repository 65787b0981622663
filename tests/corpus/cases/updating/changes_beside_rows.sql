-- Rows that are never taken back stand beside rows that change, each by itself.
--: plan yes
--: rows yes
CREATE TABLE orders (id INT PRIMARY KEY, customer TEXT, amount BIGINT, paid BOOLEAN NOT NULL, at TIMESTAMP)
WITH (connector = 'single_file', path = '$inputs/orders.jsonl', format = 'debezium_json', type = 'source');
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE output WITH (connector = 'single_file', path = '$output', format = 'debezium_json', type = 'sink');
INSERT INTO output SELECT customer, amount FROM orders UNION ALL SELECT key, 1 FROM events;
