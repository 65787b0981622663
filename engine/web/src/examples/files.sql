-- JSON files of a directory, as they arrive, cleaned and written as Parquet.
-- Change both paths to directories on the control plane's machine.
CREATE TABLE raw (id BIGINT NOT NULL, city TEXT, amount DOUBLE) WITH (
  connector = 'filesystem', type = 'source', path = '/tmp/orders', format = 'json', 'source.watch' = 'true'
);

CREATE TABLE cleaned (id BIGINT, city TEXT, amount DOUBLE) WITH (
  connector = 'filesystem', type = 'sink', path = '/tmp/cleaned', format = 'parquet'
);

INSERT INTO cleaned
SELECT id, upper(city), amount
FROM raw
WHERE amount > 0;
