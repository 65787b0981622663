"""Writes the expected errors, plans and rows of the corpus anew: `python -m tests.corpus.rewrite [rows [NAME ...]]`.

Rows need a run of each script, so they are written only when asked for; names of cases, or parts of them, say of which.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

from engine.plan.explain import explain
from tests.corpus.case import Case, all_cases, compiled, complaints


def rewrite_errors(case: Case) -> None:
    """The `--: error` lines of the head, as the script is refused now."""
    refusals = complaints(case)
    if not refusals:
        print(f"{case.name} is not refused")  # noqa: T201 - what whoever calls it has to look at
        return
    lines = "".join(f"--: error {complaint}\n" for complaint in refusals)
    old = re.search(r"(--: error .+\n)+", case.text)
    assert old
    case.path.write_text(case.text[: old.start()] + lines + case.text[old.end() :])


def rewrite_rows(cases: list[Case]) -> None:
    """The sibling files `.rows`, as runs write them now."""
    from engine.spark.jvm.session import close_session, open_session
    from tests.corpus.test_corpus import spec, written_rows
    from tests.joined import run_to_end

    with tempfile.TemporaryDirectory() as folder:
        spark = open_session(app_name="corpus", master="local[2]", parallelism=1, quick=True, log_dir=Path(folder))
        for number, case in enumerate(cases):
            place = Path(folder) / str(number)
            place.mkdir()
            run_to_end(spark, spec(case, place))
            lines = sorted(written_rows(place).elements())
            case.path.with_suffix(".rows").write_text("".join(f"{line}\n" for line in lines))
        close_session(spark)


if __name__ == "__main__":
    cases = all_cases()
    for case in cases:
        if case.has("error"):
            # twice, since the places move with the number of lines
            rewrite_errors(case)
    for case in all_cases():
        if case.has("error"):
            rewrite_errors(case)
        if case.has("plan"):
            case.path.with_suffix(".plan").write_text(explain(compiled(case).parts, "text"))
    if "rows" in sys.argv[1:2]:
        names = sys.argv[2:] or [""]
        rewrite_rows([case for case in cases if case.has("rows") and any(name in case.name for name in names)])
