// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint/test_checkpoints.hpp"
#include "checkpoint/thread_import.hpp"

#include <superstep/checkpoint/checkpointer.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// The contract of superstep::checkpointer as tests. To run them on another implementation, write a
// type with
//   superstep::checkpointer& get();   returns the checkpointer
//   void reopen();             destroys it and opens it again on the same storage, if it has any
// and pass a macro that defines a test case to CHECKPOINTER_CONTRACT (checkpointer_cases.hpp); see
// checkpointer_test.cpp.
namespace checkpointer_contract {

inline std::string ids(ss::checkpointer& s, const ss::layout_ptr& as,
                       const ss::checkpoint_query& query) {
  auto out = std::string{};
  for (const auto& c : s.list(key, query, as))
    out += c.checkpoint->id.back();
  return out;
}

inline ss::task_record ended(std::string task, std::uint32_t target) {
  auto out = ss::task_record{};
  out.task = std::move(task);
  out.output.emplace().targets = {target};
  return out;
}

inline bool has_code(const ss::checkpoint_error& e, ss::checkpoint_errc code) {
  BOOST_TEST_MESSAGE(e.what());
  return e.code() == make_error_code(code);
}

template <class Place>
void load_returns_newest_or_requested_checkpoint(Place& place) {
  const auto layout = usual_layout();
  BOOST_TEST(!place.get().load(key, "", layout));
  BOOST_TEST(place.get().head(key).empty());
  auto m = maker{layout};
  const auto first = m.put(place.get(), 1, nullptr, {set_n(1)});
  (void)m.put(place.get(), 2, first, {set_n(2)});
  place.reopen();
  BOOST_TEST(place.get().head(key) == id_of(2));
  BOOST_TEST(n_of(place.get().load(key, "", layout)->checkpoint) == 2);
  BOOST_TEST(n_of(place.get().load(key, id_of(1), layout)->checkpoint) == 1);
  BOOST_TEST(!place.get().load(key, id_of(3), layout));
}

template <class Place>
void put_now_stores_same_data_as_put(Place& place) {
  auto m = maker{usual_layout()};
  const auto first = m.put(place.get(), 1, nullptr, {set_n(1), add_log({"a"})});
  m.now = true;
  const auto second = m.put(place.get(), 2, first, {add_log({"b"})});
  place.get().put_task(key, *second, ended("a", 1));
  place.reopen();
  const auto back = place.get().load(key, "", usual_layout());
  BOOST_REQUIRE(back);
  BOOST_TEST(back->checkpoint->id == id_of(2));
  BOOST_TEST(n_of(back->checkpoint) == 1);
  BOOST_TEST((log_of(back->checkpoint) == log_type{"a", "b"}));
  BOOST_TEST(back->tasks.size() == 1U);
}

/// Waits until all writes of a thread are saved.
inline void settle(ss::checkpointer& s, const ss::thread_key& of = key) {
  auto over = std::promise<void>{};
  if (s.when_saved(of, [&over] { over.set_value(); }))
    over.get_future().get();
}

/// Builds a checkpoint with the metadata of a run.
inline ss::checkpoint_ptr of_run(const maker& m, int number, const ss::checkpoint_ptr& parent,
                                 std::string run_id, std::vector<ss::write> writes = {}) {
  auto point = *m.make(number, parent, std::move(writes));
  point.metadata = std::make_shared<const json::object>(
      json::object{{"run_id", run_id}, {"n", number}, {"is_odd", number % 2 == 1}});
  return std::make_shared<const ss::checkpoint>(std::move(point));
}

template <class Place>
void list_filters_by_metadata(Place& place) {
  const auto m = maker{usual_layout()};
  auto last = ss::checkpoint_ptr{};
  for (auto i = 1; i <= 4; ++i)
    place.get().put(key, last = of_run(m, i, last, i < 3 ? "early" : "late"));
  place.get().put(key, m.make(5, last, {}));
  place.reopen();
  const auto found = [&](json::object wanted, std::optional<std::size_t> limit = {}) {
    auto query = ss::checkpoint_query{};
    query.metadata = std::move(wanted);
    query.limit = limit;
    return ids(place.get(), usual_layout(), query);
  };
  const auto back = place.get().load(key, id_of(3), usual_layout());
  BOOST_REQUIRE(back->checkpoint->metadata);
  BOOST_TEST((*back->checkpoint->metadata ==
              json::object{{"run_id", "late"}, {"n", 3}, {"is_odd", true}}));
  BOOST_TEST(!place.get().load(key, "", usual_layout())->checkpoint->metadata);
  BOOST_TEST(found({}) == "54321");
  BOOST_TEST(found({{"run_id", "early"}}) == "21");
  BOOST_TEST(found({{"run_id", "early"}, {"is_odd", true}}) == "1");
  BOOST_TEST(found({{"is_odd", true}}, 1) == "3"); // the filter is applied before the limit
  BOOST_TEST(found({{"n", "3"}}).empty());
  BOOST_TEST(found({{"x') OR 1=1 --", 1}}).empty()); // keys are not interpreted as SQL
  BOOST_TEST(found({{"$.n", 3}}).empty());
}

template <class Place>
void checkpoint_that_is_not_newest_is_a_conflict(Place& place) {
  const auto put = [&](int n) {
    (void)maker{usual_layout()}.put(place.get(), n, nullptr, {});
    settle(place.get());
    place.get().check(key);
  };
  put(2);
  for (const auto n : {2, 1})
    BOOST_CHECK_EXCEPTION(put(n), ss::checkpoint_error,
                          [](const auto& e) { return has_code(e, ss::checkpoint_errc::conflict); });
  place.reopen();
  BOOST_TEST(place.get().list(key, {}, usual_layout()).size() == 1U);
  put(3);
  BOOST_TEST(place.get().head(key) == id_of(3));
}

template <class Place>
void delete_runs_deletes_checkpoints_of_given_runs_only(Place& place) {
  const auto m = maker{usual_layout()};
  auto last = ss::checkpoint_ptr{};
  for (const auto* run_id : {"a", "b", "b", "c"}) {
    const auto number = last ? std::stoi(last->id) + 1 : 1;
    last = of_run(m, number, last, run_id, {add_log({run_id}), set_n(number)});
    place.get().put(key, last);
    place.get().put_task(key, *last, ended("a", 1));
  }
  const auto other = ss::thread_key{"u", ""};
  place.get().put(other, of_run(maker{usual_layout(), other}, 1, nullptr, "b"));
  const auto below = ss::thread_key{"t", "node:a@" + id_of(2)};
  place.get().put(below, maker{usual_layout(), below}.make(1, nullptr, {}));
  const auto lasting = ss::thread_key{"t", "node"};
  place.get().put(lasting, maker{usual_layout(), lasting}.make(1, nullptr, {}));
  settle(place.get());
  settle(place.get(), other);
  place.reopen();
  BOOST_TEST(place.get().delete_runs({}) == 0U);
  BOOST_TEST(place.get().delete_runs({"nobody"}) == 0U);
  auto lent = std::promise<ss::result<ss::lease_ptr>>{};
  place.get().take("t", ss::busy_policy::refuse, [&](auto got) { lent.set_value(std::move(got)); });
  {
    const auto lease = *lent.get_future().get();
    BOOST_CHECK_EXCEPTION((void)place.get().delete_runs({"b"}), ss::checkpoint_error,
                          [](const auto& e) { return has_code(e, ss::checkpoint_errc::in_use); });
    BOOST_TEST(ids(place.get(), usual_layout(), {}) == "4321");
  }
  lent = {};
  BOOST_TEST(place.get().delete_runs({"b", "x"}) == 4U); // 2 of "t", 1 of "u", 1 of a subgraph
  place.reopen();
  BOOST_TEST(ids(place.get(), usual_layout(), {}) == "41");
  BOOST_TEST(place.get().head(other).empty());
  BOOST_TEST(place.get().head(below).empty());
  BOOST_TEST(place.get().head(lasting) == id_of(1));
  const auto back = place.get().load(key, "", usual_layout());
  BOOST_TEST((log_of(back->checkpoint) == log_type{"a", "b", "b", "c"}));
  BOOST_TEST(n_of(back->checkpoint) == 4);
  BOOST_TEST(back->tasks.size() == 1U);
  BOOST_TEST(place.get().load(key, id_of(1), usual_layout())->tasks.size() == 1U);
  (void)maker{usual_layout()}.put(place.get(), 5, back->checkpoint,
                                  {set_n(5)}); // the thread continues
  settle(place.get());
  place.get().check(key);
  place.reopen();
  BOOST_TEST(n_of(place.get().load(key, "", usual_layout())->checkpoint) == 5);
}

template <class Place>
void list_returns_newest_first_and_filters_before_limit(Place& place) {
  const auto layout = usual_layout();
  auto m = maker{layout};
  using source = ss::checkpoint_source;
  auto at = m.put(place.get(), 1, nullptr, {set_n(1)}, source::input);
  at = m.put(place.get(), 2, at, {set_n(2)});
  at = m.put(place.get(), 3, at, {set_n(3)});
  at = m.put(place.get(), 4, at, {set_n(4)}, source::update);
  place.reopen();
  auto& s = place.get();
  BOOST_TEST(ids(s, layout, {}) == "4321");
  BOOST_TEST(ids(s, layout, {.before = id_of(3), .source = {}, .step = {}}) == "21");
  BOOST_TEST(ids(s, layout, {{}, source::loop, {}, 1}) == "3");
  BOOST_TEST(ids(s, layout, {{}, {}, 1, {}}) == "2");
  auto all = std::string{};
  for (const auto& c : s.list(key, {}, layout))
    all += std::to_string(n_of(c.checkpoint));
  BOOST_TEST(all == "4321");
}

/// Puts one checkpoint and the record of one task that follows it.
inline void put_one_and_its_task(ss::checkpointer& s, const ss::layout_ptr& layout) {
  (void)maker{layout}.put(s, 1, nullptr, {set_n(1)});
  s.put_task(key, named(1, layout), ended("a", 1));
}

template <class Place>
void records_of_task_merge_and_keep_first_output(Place& place) {
  const auto layout = usual_layout();
  (void)maker{layout}.put(place.get(), 1, nullptr, {set_n(1)});
  auto record = ss::task_record{};
  record.task = "a";
  record.interrupts.emplace().push_back({"id", "why?"});
  place.get().put_task(key, named(1, layout), record);
  place.reopen();
  (void)place.get().load(key, "", layout); // a run loads the thread before it writes
  place.get().put_task(key, named(1, layout), ended("a", 1));
  place.get().put_task(key, named(1, layout), ended("a", 0));
  place.reopen();
  const std::vector<ss::task_record> tasks = place.get().load(key, "", layout)->tasks;
  BOOST_REQUIRE(tasks.size() == 1U);
  BOOST_TEST(tasks[0].output->targets.at(0) == 1U);
  BOOST_TEST(tasks[0].interrupts->at(0).id == "id");
}

template <class Place>
void outputs_of_repeated_command_records_are_concatenated(Place& place) {
  const auto layout = usual_layout();
  (void)maker{layout}.put(place.get(), 1, nullptr, {});
  auto said = ended("", 1);
  said.resume = json::value(nullptr);
  place.get().put_task(key, named(1, layout), said);
  place.get().put_task(key, named(1, layout), said);
  place.reopen();
  const std::vector<ss::task_record> tasks = place.get().load(key, "", layout)->tasks;
  BOOST_TEST(tasks.at(0).output->targets.size() == 2U);
  BOOST_TEST(tasks.at(0).resume->is_null());
}

template <class Place>
void task_records_load_only_with_their_checkpoint(Place& place) {
  const auto layout = usual_layout();
  auto m = maker{layout};
  const auto first = m.put(place.get(), 1, nullptr, {set_n(1)});
  auto wrote = ended("a", 1);
  wrote.output->writes.push_back(set_n(2));
  wrote.output->sends.push_back({0, {}, ss::value{7}});
  wrote.error = "no";
  place.get().put_task(key, named(1, layout), wrote);
  (void)m.put(place.get(), 2, first, {set_n(2)});
  place.reopen();
  BOOST_TEST(place.get().load(key, "", layout)->tasks.empty());
  const std::vector<ss::task_record> tasks = place.get().load(key, id_of(1), layout)->tasks;
  BOOST_REQUIRE(tasks.size() == 1U);
  BOOST_TEST(tasks[0].output->writes.at(0).content.as<int>() == 2);
  BOOST_TEST(tasks[0].output->sends.at(0).input.as<int>() == 7);
  BOOST_TEST(tasks[0].error == "no");
}

template <class Place>
void delete_thread_deletes_subgraphs_but_no_other_thread(Place& place) {
  const auto layout = usual_layout();
  const auto sub = ss::thread_key{"t", "sub"};
  const auto other = ss::thread_key{"u", ""};
  for (const auto& k : {key, sub, other})
    (void)maker{layout, k}.put(place.get(), 1, nullptr, {});
  place.get().delete_thread("t");
  place.reopen();
  BOOST_TEST(place.get().head(key).empty());
  BOOST_TEST(place.get().head(sub).empty());
  BOOST_TEST(place.get().head(other) == id_of(1));
  (void)maker{layout}.put(place.get(), 1, nullptr, {set_n(5)}); // the id can be used again
  BOOST_TEST(n_of(place.get().load(key, "", layout)->checkpoint) == 5);
}

template <class Place>
void load_restores_all_members_of_a_checkpoint(Place& place) {
  const auto layout = usual_layout();
  auto m = maker{layout};
  auto point = std::make_shared<ss::checkpoint>();
  point->id = id_of(1);
  point->step = -1;
  point->source = ss::checkpoint_source::fork;
  point->layout = layout;
  const auto state = layout->make_state();
  static_cast<ss::slot_block&>(*state).at<std::optional<point_2d>>(3) = point_2d{3, "three"};
  static_cast<ss::slot_block&>(*state).at<std::optional<json::value>>(2) = json::value(nullptr);
  point->state = state;
  point->where = m.where(9);
  auto& at = point->where;
  at.input.emplace().push_back(set_n(4));
  at.input_targets = {1};
  at.triggered = {{1, 3}, {0, 4}};
  at.deferred = {{1, 1}};
  at.joins[0].arrive(1);
  at.sends.push_back({0, {}, ss::value{11}});
  at.versions.branch_seen[1] = 5;
  at.versions.join[0] = 6;
  place.get().put(key, point);
  place.reopen();
  const ss::checkpoint_ptr back = place.get().load(key, "", layout)->checkpoint;
  BOOST_TEST((back->source == point->source && back->step == -1 && back->parent.empty()));
  BOOST_TEST((*held<std::optional<point_2d>>(back, 3) == point_2d{3, "three"}));
  BOOST_TEST(held<std::optional<json::value>>(back, 2)->is_null());
  BOOST_TEST(!held<std::optional<int>>(back, 0).has_value());
  const auto& is = back->where;
  BOOST_TEST(is.input->at(0).content.as<int>() == 4);
  BOOST_TEST((is.input_targets == at.input_targets));
  BOOST_TEST(
      (is.triggered.size() == 2 && is.triggered[0].node == 1 && is.triggered[0].causes == 3));
  BOOST_TEST((is.deferred.size() == 1 && is.deferred[0].node == 1));
  BOOST_TEST((!is.joins.at(0).has_arrived(0) && is.joins.at(0).has_arrived(1)));
  BOOST_TEST(is.sends.at(0).input.as<int>() == 11);
  BOOST_TEST((is.versions.branch == at.versions.branch && is.versions.last == 9));
  BOOST_TEST((is.versions.branch_seen == at.versions.branch_seen));
  BOOST_TEST((is.versions.join == at.versions.join));
}

/// 300 steps with a growing list, a text that grows and is cut, and a value that changes its type.
template <class Place>
void list_restores_all_states_of_long_thread(Place& place) {
  const auto layout = usual_layout();
  auto m = maker{layout};
  auto made = std::vector<ss::checkpoint_ptr>{};
  auto text = std::string{};
  for (auto i = 1; i <= 300; ++i) {
    text = i % 70 == 0 ? "ü" : text + "grows and grows, ä and on, ";
    auto any = json::value(json::object{{"text", text}, {"i", i % 3}});
    if (i % 5 == 0)
      any = json::array{i, text, json::array{}};
    made.push_back(m.put(place.get(), i, made.empty() ? nullptr : made.back(),
                         {set_n(i), add_log({"line " + std::to_string(i)}), set_any(any)}));
    if (i == 150)
      place.reopen();
  }
  place.reopen();
  const std::vector<ss::saved_checkpoint> all = place.get().list(key, {}, layout);
  BOOST_REQUIRE(all.size() == made.size());
  for (auto i = std::size_t{0}; i < made.size(); ++i) {
    const auto& back = all[made.size() - 1 - i].checkpoint;
    BOOST_TEST(n_of(back) == n_of(made[i]));
    BOOST_TEST((log_of(back) == log_of(made[i])));
    BOOST_TEST((held<std::optional<json::value>>(back, 2) ==
                held<std::optional<json::value>>(made[i], 2)));
  }
  BOOST_TEST((log_of(place.get().load(key, id_of(77), layout)->checkpoint) == log_of(made[76])));
}

template <class Place>
void branches_of_a_thread_have_separate_states(Place& place) {
  const auto layout = usual_layout();
  auto m = maker{layout};
  const auto first = m.put(place.get(), 1, nullptr, {add_log({"one"})});
  const auto second = m.put(place.get(), 2, first, {add_log({"two"})});
  place.reopen();
  const auto old = place.get().load(key, id_of(1), layout)->checkpoint;
  const auto third = m.put(place.get(), 3, old, {add_log({"three"})});
  place.get().put_task(key, named(3, layout), ended("a", 0));
  const auto fourth = m.put(place.get(), 4, third, {add_log({"four"})});
  place.reopen();
  auto& s = place.get();
  BOOST_TEST((log_of(s.load(key, "", layout)->checkpoint) == log_type{"one", "three", "four"}));
  BOOST_TEST((log_of(s.load(key, second->id, layout)->checkpoint) == log_type{"one", "two"}));
  BOOST_TEST(s.load(key, "", layout)->checkpoint->parent == third->id);
  BOOST_TEST(s.load(key, fourth->parent, layout)->tasks.size() == 1U);
}

template <class Place>
void load_accepts_added_and_removed_channels(Place& place) {
  (void)maker{usual_layout()}.put(place.get(), 1, nullptr, {set_n(3), add_log({"x"})});
  place.reopen();
  const auto changed = test_layout{}.last<int>("fresh").log("log").last<int>("n").done();
  ss::checkpoint_ptr back = place.get().load(key, "", changed)->checkpoint;
  BOOST_TEST((!held<std::optional<int>>(back, 0) && held<std::optional<int>>(back, 2) == 3));
  BOOST_TEST((held<log_type>(back, 1) == log_type{"x"}));
  (void)maker{changed}.put(place.get(), 2, back, {{0, false, ss::value{8}}});
  place.reopen();
  back = place.get().load(key, "", changed)->checkpoint;
  BOOST_TEST((held<std::optional<int>>(back, 0) == 8 && held<std::optional<int>>(back, 2) == 3));
  BOOST_TEST(n_of(place.get().load(key, "", usual_layout())->checkpoint) == 3);
}

template <class Place>
void load_refuses_changed_type_unless_converter_is_set(Place& place) {
  (void)maker{usual_layout()}.put(place.get(), 1, nullptr, {set_n(3)});
  place.reopen();
  const auto text = test_layout{}.last<std::string>("n").done();
  BOOST_CHECK_EXCEPTION(
      (void)place.get().load(key, "", text), ss::checkpoint_error, [](const auto& e) {
        const auto what = std::string{e.what()};
        return has_code(e, ss::checkpoint_errc::type_changed) && what.find("'t'") != what.npos &&
               what.find("'n'") != what.npos && what.find("text") != what.npos &&
               what.find("integer") != what.npos;
      });
  const auto convert = [](const ss::outdated_value& v) {
    return std::optional{json::value(json::string(ss::to_text(v.held) + " as text"))};
  };
  const auto converted = test_layout{}.last<std::string>("n").convert(convert).done();
  const ss::checkpoint_ptr back = place.get().load(key, "", converted)->checkpoint;
  BOOST_TEST(*held<std::optional<std::string>>(back, 0) == "3 as text");
}

template <class Place>
void load_reports_pending_nodes_missing_from_graph(Place& place) {
  (void)maker{usual_layout()}.put(place.get(), 1, nullptr, {});
  place.reopen();
  const auto other = test_layout{}.nodes({{"b", nullptr}, {"c", nullptr}}).done();
  const ss::checkpoint_ptr back = place.get().load(key, "", other)->checkpoint;
  BOOST_TEST((back->lost_nodes == std::vector<std::string>{"a"}));
  BOOST_TEST(back->where.triggered.empty());
}

template <class Place>
void stored_task_exception_keeps_class_code_and_cause(Place& place) {
  const auto layout = usual_layout();
  (void)maker{layout}.put(place.get(), 1, nullptr, {});
  auto record = ss::task_record{};
  record.task = "a";
  record.error = "node 'a' failed";
  try {
    try {
      throw std::system_error{std::make_error_code(std::errc::timed_out), "outside"};
    } catch (const std::exception&) {
      std::throw_with_nested(ss::restored_error{"ValueError", "no \"n\""});
    }
  } catch (const std::exception&) {
    record.cause = std::current_exception();
  }
  place.get().put_task(key, named(1, layout), record);
  place.reopen();
  const auto back = place.get().load(key, "", layout);
  const auto cause = back->tasks.at(0).cause;
  BOOST_TEST(ss::class_of(cause) == "ValueError");
  try {
    std::rethrow_exception(cause);
  } catch (const std::exception& e) {
    BOOST_TEST(e.what() == "no \"n\"");
    try {
      std::rethrow_if_nested(e);
      BOOST_ERROR("the nested exception is missing");
    } catch (const std::system_error& inner) {
      BOOST_TEST((inner.code() == std::errc::timed_out));
      BOOST_TEST(ss::class_of(std::current_exception()) == "std::system_error");
    }
  }
}

template <class Place>
void effect_record_lasts_until_next_checkpoint(Place& place) {
  const auto layout = usual_layout();
  auto m = maker{layout};
  const auto first = m.put(place.get(), 1, nullptr, {});
  const auto find = [&](std::string_view effect) { return place.get().find_effect("t", effect); };
  BOOST_TEST(!find("k1"));
  place.get().put_effect("t", "k1", ss::effect_record{});
  BOOST_TEST((find("k1") == ss::effect_record{}));
  place.get().put_effect("t", "k1", ss::effect_record{true, "sent"});
  place.get().put_effect("t", "k2", ss::effect_record{});
  place.get().put_effect("t", "k3", ss::effect_record{});
  place.get().put_effect("t", "k3", std::nullopt);
  (void)maker{layout, {"t", "a:x"}}.put(place.get(), 1, nullptr,
                                        {}); // a subgraph's checkpoint does not delete effects
  place.reopen();
  BOOST_TEST((find("k1") == ss::effect_record{true, "sent"}));
  BOOST_TEST((find("k2") == ss::effect_record{}));
  BOOST_TEST(!find("k3"));
  BOOST_TEST(!place.get().find_effect("other", "k1"));
  (void)place.get().load(key, "", layout);
  (void)m.put(place.get(), 2, first, {});
  BOOST_TEST(!find("k1"));
  BOOST_TEST(!find("k2"));
  place.get().put_effect("t", "k4", ss::effect_record{true, {}});
  place.get().delete_thread("t");
  BOOST_TEST(!find("k4"));
}

template <class Place>
void second_record_of_effect_start_is_a_conflict(Place& place) {
  (void)maker{usual_layout()}.put(place.get(), 1, nullptr, {});
  place.get().put_effect("t", "k", ss::effect_record{});
  settle(place.get());
  place.get().check(key);
  const auto again = [&] {
    place.get().put_effect("t", "k", ss::effect_record{});
    settle(place.get());
    place.get().check(key);
  };
  BOOST_CHECK_EXCEPTION(again(), ss::checkpoint_error,
                        [](const auto& e) { return has_code(e, ss::checkpoint_errc::conflict); });
}

template <class Place, class Other>
void import_restores_exported_thread(Place& place, Other& other) {
  const auto layout = usual_layout();
  auto m = maker{layout};
  const auto first = m.put(place.get(), 1, nullptr, {set_n(1), add_log({"one"})});
  place.get().put_task(key, named(1, layout), ended("a", 1));
  (void)m.put(place.get(), 2, first, {add_log({"two"})});
  const auto sub = ss::thread_key{"t", "a:x"};
  (void)maker{layout, sub}.put(place.get(), 1, nullptr, {set_n(9)});
  place.reopen();
  const auto bytes = place.get().export_thread("t");
  other.get().import_thread("moved", bytes);
  other.reopen();
  const auto moved = ss::thread_key{"moved", ""};
  auto& s = other.get();
  BOOST_TEST((log_of(s.load(moved, "", layout)->checkpoint) == log_type{"one", "two"}));
  BOOST_TEST(s.load(moved, id_of(1), layout)->tasks.size() == 1U);
  BOOST_TEST(n_of(s.load({"moved", "a:x"}, "", layout)->checkpoint) == 9);
  BOOST_CHECK_THROW(s.import_thread("moved", bytes), ss::checkpoint_error);
  BOOST_CHECK_THROW((void)s.export_thread("nobody"), ss::checkpoint_error);
}

/// Returns the text of the checkpoint_error that `act` throws.
template <class Act>
std::string error_of(const Act& act) {
  try {
    act();
  } catch (const ss::checkpoint_error& e) {
    return e.what();
  }
  return "no error";
}

template <class Place>
void export_and_import_errors_name_their_cause(Place& place) {
  (void)maker{usual_layout()}.put(place.get(), 1, nullptr, {set_n(1)});
  auto& s = place.get();
  BOOST_TEST(error_of([&] { (void)s.export_thread("x"); }).ends_with("thread 'x' does not exist"));
  const auto bytes = s.export_thread("t");
  BOOST_TEST(error_of([&] {
               s.import_thread("t", bytes);
             }).find("thread 't' already exists; choose another id") != std::string::npos);
  const auto refused = [&](const std::string& text) {
    return error_of([&] { s.import_thread("v", text); });
  };
  constexpr auto start = "not a complete export of a thread: ";
  BOOST_TEST(refused("").starts_with(start + std::string{"the text is empty"}));
  for (const auto* other : {"{\"a\":1}\n{\"b\":2}\n", "x\ny\n", "{}\n", "\x1f\x8b\b"})
    BOOST_TEST(refused(other).starts_with("not an exported thread: its first line must contain"));
  const auto header = bytes.substr(0, bytes.find('\n') + 1);
  BOOST_TEST(refused(header + "{\"b\":2}\n")
                 .starts_with(start + std::string{"the last line must contain the checksum"}));
  BOOST_TEST(refused(header + "y\n").starts_with(start + std::string{"line 2: "}));
  BOOST_TEST(refused(header).starts_with(start + std::string{"it has only one line"}));
  BOOST_TEST(refused(bytes.substr(0, bytes.size() / 2)).find("export") != std::string::npos);
}

template <class Place>
void imported_values_are_converted_to_channel_types(Place& place) {
  const auto layout = usual_layout();
  auto& s = place.get();
  s.import_thread("t",
                  ss::thread_of_values({{"n", 7}, {"log", {"one", "two"}}, {"gone", true}}, 3));
  place.reopen();
  const ss::checkpoint_ptr back = place.get().load(key, "", layout)->checkpoint;
  BOOST_TEST(n_of(back) == 7);
  BOOST_TEST((log_of(back) == log_type{"one", "two"}));
  BOOST_TEST(back->step == 3);
  BOOST_TEST(back->where.triggered.empty());
  (void)maker{layout}.put(place.get(), 2, back, {set_n(8)}); // the thread continues
  place.reopen();
  BOOST_TEST(n_of(place.get().load(key, "", layout)->checkpoint) == 8);
  place.get().import_thread("bad", ss::thread_of_values({{"n", "seven"}}));
  BOOST_CHECK_EXCEPTION((void)place.get().load({"bad", ""}, "", layout), ss::checkpoint_error,
                        [](const auto& e) { return has_code(e, ss::checkpoint_errc::corrupt); });
}

template <class Place>
void import_refuses_damaged_export(Place& place) {
  (void)maker{usual_layout()}.put(place.get(), 1, nullptr, {add_log({"one"})});
  const auto bytes = place.get().export_thread("t");
  auto flipped = bytes;
  flipped[flipped.find("one")] = 'O';
  auto newer = bytes;
  newer.replace(newer.find(":1"), 2, ":2");
  for (const auto& bad : {std::string{}, std::string{"{}\n"}, bytes.substr(0, bytes.size() / 2),
                          bytes.substr(0, bytes.size() - 3), flipped, newer})
    BOOST_CHECK_EXCEPTION(place.get().import_thread("v", bad), ss::checkpoint_error,
                          [](const auto& e) { return has_code(e, ss::checkpoint_errc::corrupt); });
  BOOST_TEST(place.get().head({"v", ""}).empty());
}

} // namespace checkpointer_contract
