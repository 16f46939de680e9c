// SPDX-License-Identifier: Apache-2.0
// Runs the checkpointer contract (checkpointer_contract.hpp) on every checkpointer.
#include "checkpoint/checkpointer_contract.hpp"
#include "checkpoint/sqlite_fixtures.hpp"

#include <superstep/checkpoint/memory_checkpointer.hpp>

#include <tuple>

BOOST_AUTO_TEST_SUITE(every_checkpointer)

namespace {

namespace contract = checkpointer_contract;

struct in_memory {
  std::shared_ptr<superstep::checkpointer> checkpointer = superstep::memory_checkpointer();
  superstep::checkpointer& get() { return *checkpointer; }
  void reopen() {}
};

using places = std::tuple<in_memory, in_file, in_reopened_file>;

} // namespace

#define CONTRACT(name)                                                                             \
  BOOST_AUTO_TEST_CASE_TEMPLATE(name, Place, places) {                                             \
    auto place = Place{};                                                                          \
    contract::name(place);                                                                         \
  }

CONTRACT(load_returns_newest_or_requested_checkpoint)
CONTRACT(checkpoint_that_is_not_newest_is_a_conflict)
CONTRACT(put_now_stores_same_data_as_put)
CONTRACT(list_filters_by_metadata)
CONTRACT(delete_runs_deletes_checkpoints_of_given_runs_only)
CONTRACT(list_returns_newest_first_and_filters_before_limit)
CONTRACT(records_of_task_merge_and_keep_first_output)
CONTRACT(outputs_of_repeated_command_records_are_concatenated)
CONTRACT(task_records_load_only_with_their_checkpoint)
CONTRACT(delete_thread_deletes_subgraphs_but_no_other_thread)
CONTRACT(load_restores_all_members_of_a_checkpoint)
CONTRACT(list_restores_all_states_of_long_thread)
CONTRACT(branches_of_a_thread_have_separate_states)
CONTRACT(load_accepts_added_and_removed_channels)
CONTRACT(load_refuses_changed_type_unless_converter_is_set)
CONTRACT(load_reports_pending_nodes_missing_from_graph)
CONTRACT(import_refuses_damaged_export)
CONTRACT(export_and_import_errors_name_their_cause)
CONTRACT(imported_values_are_converted_to_channel_types)
CONTRACT(stored_task_exception_keeps_class_code_and_cause)
CONTRACT(effect_record_lasts_until_next_checkpoint)
CONTRACT(second_record_of_effect_start_is_a_conflict)

#undef CONTRACT

BOOST_AUTO_TEST_CASE(import_restores_thread_exported_by_any_checkpointer) {
  const auto move = [](auto from, auto to) {
    contract::import_restores_exported_thread(*from, *to);
  };
  move(std::make_unique<in_memory>(), std::make_unique<in_reopened_file>());
  move(std::make_unique<in_reopened_file>(), std::make_unique<in_memory>());
  move(std::make_unique<in_reopened_file>(), std::make_unique<in_reopened_file>());
  move(std::make_unique<in_memory>(), std::make_unique<in_memory>());
}

BOOST_AUTO_TEST_SUITE_END()
