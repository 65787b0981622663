-- Every order, with the shop that it was made in.
{% from '_tables.sql' import orders -%}
{{ orders('sink', params.folder) }}
CREATE TABLE numbers WITH (connector = 'impulse', event_rate = 1000, message_count = 300);
INSERT INTO orders SELECT counter AS order_id, counter % 3 AS shop FROM numbers;
