"""Updating aggregates whose state may be of other aggregates: the plan that runs tells them so."""

from __future__ import annotations

from engine.compile import compile_script
from engine.plan.explain import explain
from engine.plan.nodes import Retelling, UpdatingAggregate
from engine.plan.state.forms import Form, form_of, with_forms
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

    changed = with_forms(program.parts, {1: Form(("before",), {form_of(second)[0]: ("older",)})}, program.operators, 5)

    nodes = [node for part in changed.branches for node in walk(part) if isinstance(node, UpdatingAggregate)]
    assert [(node.began_as, node.form) for node in nodes] == [(None, ()), (("before",), form_of(second))]
    assert [node.formerly for node in nodes] == [(), (("older",), ())]
    assert with_forms(program.parts, {}, program.operators, 5) == program.parts


def test_a_form_is_what_the_aggregates_mean_in_their_order() -> None:
    one, other = (
        compile_script(SCRIPT.replace("c, sum(n) AS s", text)).operators[1]
        for text in ("c, sum(n) AS t", "x, sum(n) AS y")
    )

    assert form_of(one) == form_of(other)
    assert len({*form_of(one)}) == 2


def test_rows_retracted_by_a_re_emission_pass_the_conditions_above_it() -> None:
    counts = "SELECT user AS u, count(*) AS c FROM clicks GROUP BY user"
    chosen = f"SELECT u, c + 1 AS d FROM ({counts}) WHERE c > 3 AND u <> 'a';"
    script = SCRIPT.replace("SELECT user, count(*) AS c FROM clicks GROUP BY user;", chosen)
    program = compile_script(script)

    changed = with_forms(program.parts, {0: Form(None, retelling=Retelling("x", "c1 > 1", 2))}, program.operators, 7)

    lines = explain(changed).splitlines()
    (place,) = (number for number, line in enumerate(lines) if "Filter" in line)
    assert "(_before or ((" in lines[place]
    assert "UpdatingAggregate" in lines[place + 1]
    assert changed.branches[0].schema == program.parts.branches[0].schema
    (aggregate,) = (node for node in walk(changed.branches[0]) if isinstance(node, UpdatingAggregate))
    assert aggregate.retelling == Retelling("x", "c1 > 1", 7)
