-- Orders from a Kafka topic, summed per minute into another topic, exactly once.
-- Needs a broker: change bootstrap_servers to yours.
CREATE TABLE orders (
  id BIGINT NOT NULL,
  amount DOUBLE,
  at TIMESTAMP NOT NULL,
  WATERMARK FOR at AS at - INTERVAL '10 seconds'
) WITH (
  connector = 'kafka', type = 'source', bootstrap_servers = 'localhost:9092', topic = 'orders', format = 'json',
  'source.offset' = 'earliest'
);

CREATE TABLE per_minute (minute TIMESTAMP, orders BIGINT, amount DOUBLE) WITH (
  connector = 'kafka', type = 'sink', bootstrap_servers = 'localhost:9092', topic = 'orders_per_minute', format = 'json'
);

INSERT INTO per_minute
SELECT window.start, orders, amount
FROM (
  SELECT tumble(INTERVAL '1 minute') AS window, count(*) AS orders, sum(amount) AS amount
  FROM orders
  GROUP BY window
);
