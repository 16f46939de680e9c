// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/saver_contract.hpp"
#include "checkpoint/sqlite_places.hpp"

#include <superstep/checkpoint/memory_saver.hpp>

#include <tuple>

BOOST_AUTO_TEST_SUITE(every_saver)

namespace {

namespace contract = saver_contract;

struct in_memory {
  superstep::memory_saver saver;
  superstep::saver& get() { return saver; }
  void reopen() {}
};

using places = std::tuple<in_memory, in_file, in_reopened_file>;

} // namespace

#define CONTRACT(name)                                                                             \
  BOOST_AUTO_TEST_CASE_TEMPLATE(name, Place, places) {                                             \
    auto place = Place{};                                                                          \
    contract::name(place);                                                                         \
  }

CONTRACT(the_newest_checkpoint_is_the_one_with_the_largest_id)
CONTRACT(what_is_put_now_is_kept_like_any_other)
CONTRACT(what_the_caller_said_is_kept_and_found_by)
CONTRACT(checkpoints_of_runs_are_forgotten_and_no_others)
CONTRACT(a_list_is_newest_first_and_filtered_before_it_is_cut)
CONTRACT(what_is_told_of_a_task_adds_up_and_an_output_is_written_once)
CONTRACT(what_the_caller_writes_to_a_checkpoint_adds_up)
CONTRACT(records_of_a_step_stay_with_the_checkpoint_before_it)
CONTRACT(a_thread_is_forgotten_with_its_subgraphs_and_no_other)
CONTRACT(a_checkpoint_comes_back_as_it_was)
CONTRACT(every_state_of_a_long_thread_comes_back)
CONTRACT(branches_keep_their_own_states)
CONTRACT(a_graph_may_gain_and_lose_channels)
CONTRACT(a_channel_of_another_type_is_refused_or_converted)
CONTRACT(a_node_that_the_thread_stands_before_and_that_is_gone_is_named)
CONTRACT(a_damaged_export_is_refused)
CONTRACT(values_of_another_program_are_read_as_what_their_channels_are)
CONTRACT(what_a_task_threw_keeps_its_class_its_code_and_what_was_nested)
CONTRACT(a_note_of_an_effect_lasts_until_the_next_checkpoint)
CONTRACT(an_effect_begins_once)

#undef CONTRACT

BOOST_AUTO_TEST_CASE(an_exported_thread_is_the_same_in_any_saver) {
  const auto move = [](auto from, auto to) {
    contract::an_exported_thread_is_the_same_elsewhere(*from, *to);
  };
  move(std::make_unique<in_memory>(), std::make_unique<in_reopened_file>());
  move(std::make_unique<in_reopened_file>(), std::make_unique<in_memory>());
  move(std::make_unique<in_reopened_file>(), std::make_unique<in_reopened_file>());
  move(std::make_unique<in_memory>(), std::make_unique<in_memory>());
}

BOOST_AUTO_TEST_SUITE_END()
