"""Updating aggregates whose state may be of other aggregates: the plan that runs tells them so."""

from __future__ import annotations

from engine.compile import compile_script
from engine.plan.forms import Form, form_of, with_forms
from engine.plan.nodes import UpdatingAggregate
from engine.plan.tree import walk

SCRIPT = """
CREATE TABLE clicks (at TIMESTAMP NOT NULL, user TEXT, n BIGINT)
WITH (connector = 'kafka', bootstrap_servers = 'k:9092', topic = 'clicks', format = 'json', type = 'source');
SELECT user, count(*) AS c FROM clicks GROUP BY user;
SELECT n, count(*) AS c, sum(n) AS s FROM clicks GROUP BY n;
"""


def test_only_the_operator_that_was_changed_is_told() -> None:
    program = compile_script(SCRIPT)
    _, second = program.operators

    changed = with_forms(program.parts, {1: Form(("before",), {form_of(second)[0]: ("older",)})}, program.operators)

    nodes = [node for part in changed.branches for node in walk(part) if isinstance(node, UpdatingAggregate)]
    assert [(node.began_as, node.form) for node in nodes] == [(None, ()), (("before",), form_of(second))]
    assert [node.formerly for node in nodes] == [(), (("older",), ())]
    assert with_forms(program.parts, {}, program.operators) == program.parts


def test_a_form_is_what_the_aggregates_mean_in_their_order() -> None:
    one, other = (
        compile_script(SCRIPT.replace("c, sum(n) AS s", text)).operators[1]
        for text in ("c, sum(n) AS t", "x, sum(n) AS y")
    )

    assert form_of(one) == form_of(other)
    assert len({*form_of(one)}) == 2
