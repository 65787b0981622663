"""Long tests are dealt into ten slices. `--slice=2` plays the second beside all that is not long, `--slice=all` plays
everything, `--slice=commit` the one that follows from the commit's hash; the environment's SLICE says it too. The last
lines of a run say which slice it was.

The tests of a long file are dealt in turn, 1, 2, 3 to 10, 1 and so on, those of the next file as 2, 3 to 10, 1:
of each file every slice has as many as any other, give or take one, and which slice a test is in depends on its own
file alone.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Generator, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.costs import file_of

SLICES = 10
CHOICES = ("commit", "all", *map(str, range(1, SLICES + 1)))
WHY = pytest.StashKey[str]()
COUNTS = pytest.StashKey[tuple[int, int]]()
"""How many long tests were played, and how many there are."""
COLLECTED = pytest.StashKey[list[str]]()
"""All tests that were there to choose from."""

LONG = (
    "benchmarks/test_nexmark_queries.py::test_ours_gives_the_answer_of_duckdb",
    "benchmarks/test_state.py::test_a_rescale_is_measured_beside_a_copy",
    "benchmarks/test_state.py::test_savepoints_are_measured_beside_a_run",
    "chaos/test_chaos.py::test_five_kills_and_two_zombies_change_nothing",
    "chaos/test_chaos.py::test_without_a_ledger_the_loop_fails",
    "chaos/test_points.py",
    "checkpoints/test_carry_over_with_spark.py::test_a_filter_of_keys_behind_a_window_is_no_matter_of_its_state",
    "checkpoints/test_carry_over_with_spark.py::test_a_session_goes_on_when_the_branch_before_it_is_dropped",
    "checkpoints/test_carry_over_with_spark.py::test_a_table_that_is_new_and_older_than_the_watermark_would_lose_its_rows",
    "checkpoints/test_carry_over_with_spark.py::test_an_epoch_that_was_not_committed_covers_the_same_range_in_the_new_query",
    "checkpoints/test_carry_over_with_spark.py::test_state_is_lost_and_comes_again",
    "checkpoints/test_carry_over_with_spark.py::test_windows_that_are_open_are_whole_behind_a_filter_and_beside_a_new_branch",
    "checkpoints/test_carry_over_with_spark.py::test_updating_state_is_taken_over_beside_a_new_sink",
    "checkpoints/test_changed_behind_keys.py",
    "checkpoints/test_drill.py::test_every_row_of_every_operator_is_read",
    "checkpoints/test_evolved_sinks.py",
    "checkpoints/test_fork_with_spark.py",
    "checkpoints/test_journal_with_sinks.py",
    "checkpoints/test_kept_objects.py",
    "checkpoints/test_migrated_states.py::test_after_random_edits_all_that_is_not_withheld_is_the_batch_answer",
    "checkpoints/test_migrated_states.py::test_keys_of_an_updating_aggregate_get_its_new_form_when_they_change",
    "checkpoints/test_migrated_states.py::test_windows_without_new_aggregates_and_old_savepoints_suppress_nothing",
    "checkpoints/test_migrated_states.py::test_windows_that_are_held_back_give_out_no_row_and_all_others_are_the_batch_answer",
    "checkpoints/test_migrated_states.py::test_suppressed_aggregates_stay_suppressed_after_restarts_rescaling_and_restores",
    "checkpoints/test_parted_sinks_with_spark.py",
    "checkpoints/test_upgrade_with_spark.py::test_a_loss_is_accepted_by_the_plan_that_says_it",
    "checkpoints/test_upgrade_with_spark.py::test_a_query_that_fails_at_an_epoch_is_mended_by_the_next_version",
    "checkpoints/test_upgrade_with_spark.py::test_a_state_that_was_laid_out_for_another_width_is_taken_over",
    "checkpoints/test_upgrade_with_spark.py::test_an_epoch_that_was_begun_is_taken_by_the_new_query",
    "checkpoints/test_upgrade_with_spark.py::test_epoch_that_a_sink_may_have_committed_is_finished_by_the_old_query",
    "checkpoints/test_upgrade_with_spark.py::test_state_that_cannot_be_taken_over_is_refused_and_the_old_query_continues",
    "checkpoints/test_upgraded_panes.py",
    "checkpoints/test_wider_hashes.py",
    "checkpoints/test_wider_panes.py",
    "checkpoints/test_wider_types.py::test_windows_go_on_over_wider_numbers_and_keys",
    "checkpoints/test_with_spark.py::test_a_savepoint_of_a_running_query_restores_with_identical_remaining_output",
    "checkpoints/test_with_spark.py::test_rescaling_from_one_to_two_to_three_changes_nothing_in_the_output",
    "cluster/test_golden_on_a_cluster.py",
    "cluster/test_kills.py",
    "cluster/test_moves.py",
    "cluster/test_nexmark_on_a_cluster.py",
    "cluster/test_parts.py::test_executors_see_neither_files_nor_code_of_the_driver",
    "cluster/test_parts.py::test_cluster_leaves_no_processes_or_files",
    "cluster/test_task_files.py",
    "cluster/test_unreachable_driver.py",
    "connectors/test_dead_letters.py::test_a_table_takes_each_bad_record_once_through_a_crash",
    "connectors/test_dead_letters.py::test_good_records_go_on_and_bad_ones_are_kept_once_through_a_crash",
    "connectors/test_mqtt.py::test_five_kills_of_receiver_and_broker_lose_nothing",
    "connectors/test_redis.py::test_a_job_looks_rows_up_and_each_process_asks_for_them_once",
    "connectors/test_redis.py::test_a_server_that_is_not_there_stops_the_job_with_its_address",
    "corpus/test_corpus.py::test_a_run_writes_the_rows_that_are_written_down",
    "fuzz/test_fuzz.py::test_random_queries_give_the_batch_answer",
    "fuzz/test_fuzz.py::test_a_window_that_closes_too_early_is_found",
    "fuzz/test_fuzz.py::test_null_that_equals_null_in_a_join_is_found",
    "fuzz/test_fuzz.py::test_without_a_planted_bug_nothing_is_found",
    "gate/test_gate.py::test_at_random_moments_readers_find_what_is_promised",
    "golden/test_golden.py::test_killed_half_way_and_restored",
    "golden/test_golden.py::test_stopped_and_restored_and_once_more_at_another_parallelism",
    "kafka/test_backfill.py::test_history_and_what_comes_behind_it_are_the_batch_answer_through_five_kills",
    "kafka/test_broker.py::test_three_nodes_outlive_one",
    "kafka/test_broker_deaths.py",
    "kafka/test_hand_over.py",
    "kafka/test_rehearsal.py",
    "kafka/test_sink_with_spark.py",
    "kafka/test_spark_read.py::test_spark_reads_the_same_through_kills",
    "kafka/test_with_spark.py::test_a_kill_loses_and_doubles_nothing",
    "kept/test_kept.py::test_a_state_of_an_earlier_day_goes_on",
    "kills/test_kills.py::test_a_request_is_killed_at_every_point_that_it_comes_to",
    "kills/test_kills_with_spark.py",
    "nexmark/test_nexmark.py",
    "provider/test_testing.py::test_the_example_of_a_script_holds",
    "s3/test_faults_of_state.py",
    "s3/test_golden_in_a_bucket.py::test_all_of_them_straight_through",
    "s3/test_golden_in_a_bucket.py::test_the_others_stopped_and_restored",
    "s3/test_requests_of_state.py",
    "s3/test_state_in_a_bucket.py",
    "spark/test_local_files.py::test_an_epoch_starts_no_chmod",
    "spark/test_map_in_arrow.py::test_a_run_without_functions_of_pandas_does_not_import_it",
    "spark/test_nothing_closes.py::test_windows_of_several_grids_and_windows_of_windows_all_end",
    "s3/test_tools_of_a_state_in_a_bucket.py",
    "s3/test_whole_state_in_a_bucket.py::test_an_epoch_sends_few_requests",
    "s3/test_whole_state_in_a_bucket.py::test_killed_drivers_whose_disk_is_gone_lose_and_double_nothing",
    "s3/test_whole_state_in_a_bucket.py::test_run_that_another_one_has_replaced_writes_nothing",
    "spark/test_operator_numbers.py::test_spark_numbers_them_from_the_top_down_branch_by_branch",
    "spark/test_rehearsal.py::test_a_new_column_and_a_new_sink_make_no_difference_and_are_named",
    "spark/test_rehearsal.py::test_a_query_that_fails_is_named",
    "spark/test_rehearsal.py::test_a_savepoint_restores_as_before_once_it_was_rehearsed",
    "spark/test_rehearsal.py::test_input_that_is_not_the_same_twice_is_not_compared",
    "spark/test_rehearsal.py::test_rehearsal_finds_one_different_row_in_a_hundred_thousand",
    "spark/test_rehearsal.py::test_rows_that_change_are_compared_as_they_are_in_the_end",
    "spark/test_session.py::test_a_session_says_nothing_on_the_terminal_and_can_be_opened_again",
    "spark/test_updating_queries.py::test_the_changes_of_a_query_come_to_the_batch_answer",
    "streams/test_backfill.py::test_once_it_has_ended_it_does_nothing_more",
    "streams/test_closing_windows.py::test_a_stop_in_between_changes_nothing",
    "streams/test_finishing.py",
    "streams/test_fused.py::test_a_run_goes_on_with_the_state_of_one_that_was_run_the_other_way",
    "streams/test_fused.py::test_rows_figures_and_the_shape_of_the_state_are_the_same",
    "streams/test_fused.py::test_tasks_that_do_all_of_a_plan_write_the_same_also_across_a_kill",
    "streams/test_graceful_stop.py::test_a_rest_of_an_hour_keeps_no_stop_waiting",
    "streams/test_graceful_stop.py::test_epochs_that_come_once_an_hour_keep_no_drain_waiting",
    "streams/test_late_rows.py",
    "streams/test_merged_groups.py",
    "streams/test_merged_rows.py",
    "streams/test_merged_sessions.py",
    "streams/test_one_task.py::test_single_task_result_equals_spark_also_after_a_kill",
    "streams/test_one_task.py::test_pairs_that_are_too_many_for_a_task_are_left_to_spark_as_are_some_epochs_after_them",
    "streams/test_panes.py",
    "streams/test_state_rows.py",
    "streams/test_watermarks.py::test_a_kill_in_the_middle_changes_nothing",
    "streams/test_windows_against_duckdb.py",
    "system/test_airflow_kills.py",
    "system/test_airflow_over_postgres.py",
    "system/test_back_and_forward.py",
    "system/test_backfill_example.py",
    "system/test_complete_example.py",
    "system/test_control_plane_with_spark.py",
    "system/test_example_dag.py",
    "system/test_every_page.py::test_every_action_of_every_page_is_reached_by_the_tabulator_and_seen_to_be",
    "system/test_every_page.py::test_every_page_has_no_serious_accessibility_violation_in_each_width_and_theme",
    "system/test_every_page.py::test_focus_moves_to_start_after_a_stop_by_keyboard",
    "system/test_full_disks.py",
    "system/test_hurried_users.py",
    "system/test_kafka_report_example.py",
    "system/test_kill_loop.py",
    "system/test_more_examples.py",
    "system/test_moves.py",
    "system/test_older_drivers.py",
    "system/test_outages.py",
    "system/test_lag_example.py",
    "system/test_nightly_example.py",
    "system/test_page.py::test_a_page_is_told_of_changes_and_asks_for_nothing_in_between",
    "system/test_page.py::test_a_page_without_the_stream_asks_by_itself_and_one_whose_session_is_left_elsewhere_closes",
    "system/test_page.py::test_an_upgrade_is_seen_beside_what_runs_and_done_once_what_it_loses_is_accepted",
    "system/test_page.py::test_each_action_says_what_it_does_before_it_is_done",
    "system/test_page.py::test_hostile_texts_are_shown_as_text",
    "system/test_page.py::test_forbidden_action_is_refused_before_confirmation",
    "system/test_page_in_airflow.py",
    "system/test_page_with_spark.py",
    "system/test_partition_kills.py",
    "system/test_partitions_example.py",
    "system/test_push_kills.py",
    "system/test_real_airflow.py",
    "system/test_rehearsals.py",
    "system/test_reprocess_example.py",
    "system/test_secrets_example.py",
    "system/test_script_example.py",
    "system/test_several_gates_example.py",
    "system/test_shared_java.py",
    "system/test_sickness.py",
    "system/test_spare_drivers.py",
    "system/test_standalone_cluster.py",
    "system/test_tutorial.py::test_a_tutorial_with_a_mistake_in_it_fails",
    "system/test_warm_runs.py",
    "system/test_wheel.py",
    "upgrade_fuzz/test_upgrade_fuzz.py::test_predictions_of_plans_for_random_edits_are_correct",
    "upgrade_matrix/test_played.py",
    "web/test_search.py::test_the_first_page_found_is_the_one_that_helps",
    "updating/test_restarts.py",
    "updating/test_savepoints.py",
    "updating/test_with_spark.py::test_the_folded_changes_are_the_batch_answer",
)
"""The long files and functions of files, as `--costs=file` has shown them."""

ONLY_IN_ALL = (
    "cluster/test_archive.py",
    "system/test_tutorial.py::test_the_tutorial_holds_word_by_word_in_a_new_environment",
)
"""What installs whole environments, and takes minutes: in no slice, only in the run of all."""


def deal(nodeids: Iterable[str]) -> dict[str, int]:
    """The slice of every long test among these; 0 for those that are in none."""
    long: dict[str, list[str]] = {place: [] for place in sorted(LONG)}
    for nodeid in sorted(filter(is_long, nodeids)):
        long[_place(nodeid)].append(nodeid)
    slices: dict[str, int] = {}
    for first, tests in enumerate(long.values()):
        slices |= {nodeid: number % SLICES + 1 for number, nodeid in enumerate(tests, first)}
    slices |= {nodeid: 0 for nodeid in nodeids if is_only_in_all(nodeid)}
    return slices


def played(nodeids: Sequence[str], choice: str) -> list[str]:
    """Which of these tests a run plays: all that are not long, and the long ones of the slice that was chosen."""
    slices = deal(nodeids)
    return [nodeid for nodeid in nodeids if choice == "all" or str(slices.get(nodeid, choice)) == choice]


def is_long(nodeid: str) -> bool:
    """Whether a test is only played with its slice."""
    return _place(nodeid) in LONG


def is_only_in_all(nodeid: str) -> bool:
    """Whether a test is played by no slice."""
    return any(nodeid.removeprefix("tests/").startswith(place) for place in ONLY_IN_ALL)


def _place(nodeid: str) -> str:
    """The entry of `LONG` that a test would have: its function's, or else its file's."""
    function = nodeid.partition("[")[0].removeprefix("tests/")
    return function if function in LONG else file_of(nodeid)


def slice_of_commit() -> tuple[str, str]:
    """The slice that follows from the commit that is checked out, and the reason in words."""
    root = Path(__file__).parents[1]
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True, check=False)
    if head.returncode != 0:
        return "1", "there is no commit to choose another by"
    commit = head.stdout.strip()
    return str(int(commit, 16) % SLICES + 1), f"that follows from commit {commit[:12]}"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--slice",
        default=os.environ.get("SLICE") or None,
        metavar="|".join(CHOICES),
        help="which of the slices of long tests is played (default: SLICE of the environment, or all)",
    )


def pytest_configure(config: pytest.Config) -> None:
    choice = config.getoption("--slice")
    if choice is not None and choice not in CHOICES:
        raise pytest.UsageError(f"--slice and SLICE can be {', '.join(CHOICES)}, and not {choice}")
    config.stash[WHY] = "it was asked for"
    if choice == "commit":  # decided once, before there are other processes that play tests
        config.option.slice, config.stash[WHY] = slice_of_commit()


@pytest.hookimpl(tryfirst=True)  # before xdist adds to the names of tests
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    nodeids = config.stash[COLLECTED] = [item.nodeid for item in items]
    chosen = set(played(nodeids, config.getoption("--slice") or "all"))
    config.stash[COUNTS] = (sum(map(is_long, chosen)), sum(map(is_long, nodeids)))
    if hasattr(config, "workeroutput"):
        config.workeroutput["slice"] = config.stash[COUNTS]
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in chosen])
    items[:] = [item for item in items if item.nodeid in chosen]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take over what a process that has played tests has counted."""
    if "slice" in (output := getattr(node, "workeroutput", {})):
        node.config.stash[COUNTS] = tuple(output["slice"])


@pytest.hookimpl(wrapper=True, tryfirst=True)  # the last to speak, below what has failed
def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> Generator[None, None, None]:
    yield
    choice, (count, long) = config.getoption("--slice"), config.stash.get(COUNTS, (0, 0))
    if choice is None:
        return
    terminalreporter.section("slice")
    if choice == "all":
        terminalreporter.line(f"all {SLICES} slices: {long} long tests")
    else:
        terminalreporter.line(f"slice {choice} of {SLICES}, since {config.stash[WHY]}: {count} of {long} long tests")
        terminalreporter.line(f"another one: make test SLICE=1 (to {SLICES}), or SLICE=all, as make test-all")
