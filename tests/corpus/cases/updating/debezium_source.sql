-- A table of changes is read as rows that are added and taken back, known by their primary key.
--: plan yes
CREATE TABLE orders (id INT PRIMARY KEY, customer TEXT, quantity INT, at TIMESTAMP)
WITH (connector = 'single_file', path = '/orders.json', format = 'debezium_json', type = 'source');
CREATE TABLE changes WITH (connector = 'single_file', path = '/changes.json', format = 'debezium_json', type = 'sink');
INSERT INTO changes SELECT customer, quantity FROM orders WHERE quantity > 1;
INSERT INTO changes SELECT customer, max(quantity) FROM orders GROUP BY customer;
