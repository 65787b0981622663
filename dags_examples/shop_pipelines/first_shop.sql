-- The orders of the first shop alone.
-- after: orders
{% from '_tables.sql' import orders -%}
{{ orders('source', params.folder) }}
CREATE TABLE first_shop (order_id BIGINT) WITH (
    connector = 'single_file', type = 'sink', format = 'json', path = '{{ params.folder }}/shop_pipelines/first_shop.json'
);
INSERT INTO first_shop SELECT order_id FROM orders WHERE shop = 0;
