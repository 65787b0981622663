-- The rows of a table of changes are rows that change: no window, and no sink that cannot take them back.
--: error sql.updating 7:13 the rows are changed afterwards, and the sink cannot take changes
--: error sql.updating 8:56 a time window cannot be closed over rows that are changed afterwards
CREATE TABLE orders (id INT PRIMARY KEY, customer TEXT)
WITH (connector = 'single_file', path = '/orders.json', format = 'debezium_json', type = 'source');
CREATE TABLE plain WITH (connector = 'single_file', path = '/plain.json', format = 'json', type = 'sink');
INSERT INTO plain SELECT id FROM orders;
INSERT INTO plain SELECT count(*) FROM orders GROUP BY tumble(INTERVAL '1 minute');
