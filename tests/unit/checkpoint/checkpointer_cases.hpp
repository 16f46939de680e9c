// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint/checkpointer_contract.hpp"
#include "checkpoint/leases_contract.hpp"
#include "checkpoint/maintenance_contract.hpp"

/// Expands CASE(name) for each function of the contract that takes one place.
#define CHECKPOINTER_CONTRACT(CASE)                                                                \
  CASE(load_returns_newest_or_requested_checkpoint)                                                \
  CASE(checkpoint_that_is_not_newest_is_a_conflict)                                                \
  CASE(put_now_stores_same_data_as_put)                                                            \
  CASE(list_filters_by_metadata)                                                                   \
  CASE(delete_runs_deletes_checkpoints_of_given_runs_only)                                         \
  CASE(list_returns_newest_first_and_filters_before_limit)                                         \
  CASE(records_of_task_merge_and_keep_first_output)                                                \
  CASE(outputs_of_repeated_command_records_are_concatenated)                                       \
  CASE(task_records_load_only_with_their_checkpoint)                                               \
  CASE(delete_thread_deletes_subgraphs_but_no_other_thread)                                        \
  CASE(load_restores_all_members_of_a_checkpoint)                                                  \
  CASE(list_restores_all_states_of_long_thread)                                                    \
  CASE(branches_of_a_thread_have_separate_states)                                                  \
  CASE(load_accepts_added_and_removed_channels)                                                    \
  CASE(load_refuses_changed_type_unless_converter_is_set)                                          \
  CASE(load_reports_pending_nodes_missing_from_graph)                                              \
  CASE(import_refuses_damaged_export)                                                              \
  CASE(export_and_import_errors_name_their_cause)                                                  \
  CASE(imported_values_are_converted_to_channel_types)                                             \
  CASE(stored_task_exception_keeps_class_code_and_cause)                                           \
  CASE(effect_record_lasts_until_next_checkpoint)                                                  \
  CASE(second_record_of_effect_start_is_a_conflict)                                                \
  CASE(threads_are_listed_by_id_in_pages)                                                          \
  CASE(checkpoint_is_shown_without_its_graph)                                                      \
  CASE(history_filters_like_list)                                                                  \
  CASE(pruned_thread_can_be_resumed)                                                               \
  CASE(prune_keeps_subgraph_state_of_remaining_checkpoints)                                        \
  CASE(prune_keeps_subgraph_state_of_edits)                                                        \
  CASE(prune_handles_subgraphs_without_their_graph)                                                \
  CASE(prune_deletes_only_old_checkpoints)                                                         \
  CASE(records_of_changed_graph_are_kept)                                                          \
  CASE(prune_deletes_whole_threads)                                                                \
  CASE(run_of_deleted_thread_fails_with_conflict)                                                  \
  CASE(lease_waits_for_all_former_holders)                                                         \
  CASE(prune_of_many_threads_uses_short_transactions)
