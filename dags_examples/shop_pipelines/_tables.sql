{# Tables that more than one script uses: this file is no pipeline. #}
{% macro orders(type, folder) -%}
CREATE TABLE orders (order_id BIGINT, shop BIGINT) WITH (
    connector = 'single_file', type = '{{ type }}', format = 'json', path = '{{ folder }}/shop_pipelines/orders.json'
);
{%- endmacro %}
