"""A plan says which sinks take back what a restore leaves, and which keep it."""

from engine.control.upgrades.plan_query import plan_query

SQL = """
CREATE TABLE clicks (id BIGINT) WITH (connector = 'single_file', path = '/in', format = 'json', type = 'source');
CREATE TABLE copies (id BIGINT) WITH (connector = 'single_file', path = '/out', format = 'json', type = 'sink');
CREATE TABLE records (id BIGINT)
WITH (connector = 'kafka', bootstrap_servers = 'b:1', topic = 't', format = 'json', type = 'sink');
CREATE TABLE nowhere (id BIGINT) WITH (connector = 'blackhole', type = 'sink');
INSERT INTO copies SELECT id FROM clicks;
INSERT INTO records SELECT id FROM clicks;
INSERT INTO nowhere SELECT id FROM clicks;
"""


def test_files_go_back_and_kafka_keeps_its_records() -> None:
    planned = plan_query(SQL, ())

    assert planned.takes_back == ("copies",)
    assert planned.lasting == (("records", "kafka"),)
