-- Changes of a database table, as Debezium writes them to Kafka: revenue per city, kept up to date.
-- Needs a broker: change bootstrap_servers to yours.
CREATE TABLE orders (id BIGINT PRIMARY KEY, city TEXT, amount DOUBLE) WITH (
  connector = 'kafka', type = 'source', bootstrap_servers = 'localhost:9092', topic = 'shop.public.orders',
  format = 'debezium_json', 'source.offset' = 'earliest'
);

CREATE TABLE revenue WITH (connector = 'preview');

INSERT INTO revenue
SELECT city, sum(amount) AS revenue, count(*) AS orders
FROM orders
GROUP BY city;
