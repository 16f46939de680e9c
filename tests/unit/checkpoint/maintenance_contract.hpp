// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint/checkpointer_contract.hpp"

#include <superstep/checkpoint/sqlite.hpp>

#include <chrono>
#include <thread>

// The part of the checkpointer contract about inspection and maintenance: threads(), show(),
// history() and prune().
namespace checkpointer_contract {

template <class Place>
void threads_are_listed_by_id_in_pages(Place& place) {
  auto m = maker{usual_layout()};
  const auto first = m.put(place.get(), 1, nullptr, {});
  (void)m.put(place.get(), 2, first, {});
  const auto others = std::vector<ss::thread_key>{{"t", "a:x"}, {"a", ""}, {"u", "a:x"}};
  for (const auto& of : others)
    (void)maker{usual_layout(), of}.put(place.get(), 7, nullptr, {});
  for (const auto& of : others)
    settle(place.get(), of);
  place.reopen();
  const auto all = place.get().threads();
  BOOST_REQUIRE(all.size() == 3U);
  BOOST_TEST((all[0].thread_id == "a" && all[0].checkpoints == 1 && all[0].head == id_of(7)));
  BOOST_TEST((all[1].thread_id == "t" && all[1].checkpoints == 3 && all[1].head == id_of(2)));
  BOOST_TEST((all[2].thread_id == "u" && all[2].checkpoints == 1 && all[2].head.empty()));
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  BOOST_TEST(all[1].created <= std::chrono::duration_cast<std::chrono::seconds>(now).count());
  BOOST_TEST(all[1].created > 1'700'000'000);
  const auto page = place.get().threads("a", 1);
  BOOST_REQUIRE(page.size() == 1U);
  BOOST_TEST(page[0].thread_id == "t");
  BOOST_TEST(place.get().threads("b").size() == 2U);
  BOOST_TEST(place.get().threads("u").empty());
}

template <class Place>
void checkpoint_is_shown_without_its_graph(Place& place) {
  auto m = maker{usual_layout()};
  const auto first = m.put(place.get(), 1, nullptr, {set_n(1), add_log({"one"})});
  auto point = *m.make(2, first, {set_n(2), add_log({"two"})});
  point.where.input = ss::write_list{};
  point.where.triggered = {{1, 1}};
  point.where.sends.push_back({.node = 0, .input = ss::value{5}});
  point.metadata = std::make_shared<const json::object>(json::object{{"run_id", "r"}});
  place.get().put(key, std::make_shared<const ss::checkpoint>(point));
  place.get().put_task(key, point, ended("a", 1));
  place.reopen();
  auto& s = place.get();
  const auto shown = s.show(key).value();
  BOOST_TEST(shown.at("values") == (json::object{{"n", 2}, {"log", {"one", "two"}}}));
  BOOST_TEST(shown.at("next") == (json::array{"__start__", "a", "b"}));
  BOOST_TEST(shown.at("metadata") == (json::object{{"run_id", "r"}}));
  BOOST_TEST(shown.at("tasks").as_array().size() == 1U);
  const auto old = s.show(key, id_of(1)).value();
  BOOST_TEST(old.at("values").at("n") == 1);
  BOOST_TEST(old.at("next") == json::array{"a"});
  BOOST_TEST(!old.contains("metadata"));
  for (const auto& [name, wanted] : json::object{{"thread", "t"},
                                                 {"ns", ""},
                                                 {"id", id_of(1)},
                                                 {"parent", ""},
                                                 {"source", "loop"},
                                                 {"step", 0},
                                                 {"graph", "g"}})
    BOOST_TEST(old.at(name) == wanted);
  BOOST_TEST(!s.show(key, id_of(3)));
  BOOST_TEST(!s.show({"u", ""}));
  // An imported thread has the same JSON, before a graph has loaded it.
  s.import_thread("copy", s.export_thread("t"));
  auto copied = s.show({"copy", ""}).value();
  copied["thread"] = "t";
  BOOST_TEST(copied == shown);
  s.import_thread("cut", ss::cut_thread(s.export_thread("t"), id_of(1)));
  BOOST_TEST(s.show({"cut", ""})->at("values").at("n") == 1);
  BOOST_CHECK_THROW((void)ss::cut_thread(s.export_thread("t"), "77"), ss::checkpoint_error);
}

template <class Place>
void history_filters_like_list(Place& place) {
  const auto m = maker{usual_layout()};
  auto last = ss::checkpoint_ptr{};
  for (auto i = 1; i <= 5; ++i)
    place.get().put(key, last = of_run(m, i, last, i < 3 ? "early" : "late"));
  place.reopen();
  place.get().import_thread("copy", place.get().export_thread("t"));
  for (const auto* thread : {"t", "copy"}) {
    const auto found = [&](const ss::checkpoint_query& query) {
      auto out = std::string{};
      for (const auto& point : place.get().history({thread, ""}, query)) {
        BOOST_TEST((!point.contains("values") && !point.contains("tasks")));
        out += point.at("id").as_string().back();
      }
      return out;
    };
    BOOST_TEST(found({}) == "54321");
    BOOST_TEST(found({.before = id_of(4), .limit = 2}) == "32");
    BOOST_TEST(found({.step = 1}) == "2");
    BOOST_TEST(found({.source = ss::checkpoint_source::fork}).empty());
    BOOST_TEST(found({.limit = 1, .metadata = {{"run_id", "early"}}}) == "2");
  }
  BOOST_TEST(place.get().history({"u", ""}, {}).empty());
}

template <class Place>
void pruned_thread_can_be_resumed(Place& place) {
  const auto layout = usual_layout();
  auto m = maker{layout};
  auto at = ss::checkpoint_ptr{};
  for (auto i = 1; i <= 20; ++i)
    at = m.put(place.get(), i, at, {add_log({std::to_string(i)})});
  const auto lines = log_of(at);
  place.get().put_task(key, named(20, layout), ended("a", 1));
  (void)maker{layout, {"u", ""}}.put(place.get(), 1, nullptr, {});
  BOOST_TEST(place.get().prune({.thread_id = "nobody"}) == 0U);
  BOOST_TEST(place.get().prune({.keep_last = 20}) == 0U);
  BOOST_TEST(place.get().prune({.thread_id = "t", .keep_last = 3}) == 17U);
  for (auto i = 0; i < 2; ++i) {
    BOOST_TEST(place.get().list(key, {}, layout).size() == 3U);
    const auto head = *place.get().load(key, "", layout);
    BOOST_TEST((log_of(head.checkpoint) == lines && head.tasks.size() == 1));
    BOOST_TEST((log_of(place.get().load(key, id_of(18), layout)->checkpoint).size() == 18));
    place.reopen();
  }
  (void)place.get().load(key, "", layout);
  (void)m.put(place.get(), 21, at, {add_log({"21"})});
  settle(place.get());
  place.get().check(key);
  place.reopen();
  BOOST_TEST(log_of(place.get().load(key, "", layout)->checkpoint).size() == 21U);
  const auto all = place.get().threads();
  BOOST_TEST((all.at(0).checkpoints == 4 && all.at(0).head == id_of(21)));
  BOOST_TEST(place.get().prune({.keep_last = 0}) == 3U); // 0 counts as 1
  BOOST_TEST(place.get().head(key) == id_of(21));
  BOOST_TEST(place.get().head({"u", ""}) == id_of(1));
}

template <class Place>
void prune_keeps_subgraph_state_of_remaining_checkpoints(Place& place) {
  const auto layout = usual_layout();
  auto m = maker{layout};
  auto at = ss::checkpoint_ptr{};
  for (const auto i : {10, 20, 30, 40})
    at = m.put(place.get(), i, at, {});
  const auto per_thread = ss::thread_key{"t", "b"};
  const auto lost = ss::thread_key{"t", "a:a@" + id_of(20)};
  const auto later_call = ss::thread_key{"t", "a:a@" + id_of(40) + ".2"};
  auto of_b = maker{layout, per_thread};
  for (const auto i : {11, 21, 31, 41})
    (void)of_b.put(place.get(), i, nullptr, {set_n(i)});
  for (const auto& of : {lost, later_call})
    (void)maker{layout, of}.put(place.get(), 1, nullptr, {});
  // 10 and 20 are deleted. A run from 30 restores the subgraph's 21, so only 11 is deleted.
  BOOST_TEST(place.get().prune({.thread_id = "t", .keep_last = 2}) == 4U);
  place.reopen();
  const auto left = [&](const ss::thread_key& of) {
    auto out = std::vector<std::string>{};
    for (const auto& point : place.get().history(of, {}))
      out.emplace_back(point.at("id").as_string());
    return out;
  };
  BOOST_TEST((left(key) == std::vector{id_of(40), id_of(30)}));
  BOOST_TEST((left(per_thread) == std::vector{id_of(41), id_of(31), id_of(21)}));
  BOOST_TEST(left(lost).empty());
  BOOST_TEST(left(later_call).size() == 1U);
}

/// A run from an edit restores the subgraph's checkpoint that is older than the edit's parent.
template <class Place>
void prune_keeps_subgraph_state_of_edits(Place& place) {
  const auto layout = usual_layout();
  const auto per_thread = ss::thread_key{"t", "b"};
  for (const auto source : {ss::checkpoint_source::update, ss::checkpoint_source::fork}) {
    auto m = maker{layout};
    const auto first = m.put(place.get(), 10, nullptr, {});
    const auto second = m.put(place.get(), 20, first, {});
    (void)m.put(place.get(), 30, second, {});
    (void)m.put(place.get(), 40, second, {}, source);
    auto of_b = maker{layout, per_thread};
    for (const auto i : {1, 11, 21, 31})
      (void)of_b.put(place.get(), i, nullptr, {set_n(i)});
    // 10, 20 and 30 are deleted. A run from 40 restores the subgraph's 11, so only 1 is deleted.
    BOOST_TEST(place.get().prune({.thread_id = "t", .keep_last = 1}) == 4U);
    place.reopen();
    BOOST_TEST((place.get().head(key) == id_of(40)));
    BOOST_TEST(place.get().history(per_thread, {}).size() == 3U);
    place.get().delete_thread("t");
  }
}

/// A thread may have no checkpoints of the graph itself, but only of subgraphs.
template <class Place>
void prune_handles_subgraphs_without_their_graph(Place& place) {
  const auto layout = usual_layout();
  const auto first = ss::thread_key{"t", "a"};
  const auto second = ss::thread_key{"t", "b"};
  (void)maker{layout, first}.put(place.get(), 2, nullptr, {});
  auto of_second = maker{layout, second};
  for (auto i = 1; i <= 3; ++i)
    (void)of_second.put(place.get(), i, nullptr, {});
  (void)maker{layout, {"t", "c:a@" + id_of(1)}}.put(place.get(), 1, nullptr, {}); // has no owner
  BOOST_TEST(place.get().prune({.thread_id = "t"}) == 3U);
  place.reopen();
  BOOST_TEST(place.get().head(first) == id_of(2));
  BOOST_TEST(place.get().history(second, {}).size() == 1U);
  BOOST_TEST(place.get().head({"t", "c:a@" + id_of(1)}).empty());
}

template <class Place>
void prune_deletes_only_old_checkpoints(Place& place) {
  auto m = maker{usual_layout()};
  auto at = ss::checkpoint_ptr{};
  for (auto i = 1; i <= 2; ++i)
    at = m.put(place.get(), i, at, {});
  settle(place.get());
  using std::chrono::seconds;
  BOOST_TEST(place.get().prune({.older_than = seconds{3'600}}) == 0U);
  BOOST_TEST(place.get().prune({.older_than = seconds::max()}) == 0U);
  std::this_thread::sleep_for(std::chrono::milliseconds{2'200}); // databases store full seconds
  for (auto i = 3; i <= 4; ++i)
    at = m.put(place.get(), i, at, {});
  BOOST_TEST(place.get().prune({.older_than = seconds{2}}) == 2U);
  BOOST_TEST(place.get().prune({.older_than = seconds{3'600}, .whole_threads = true}) == 0U);
  place.reopen();
  BOOST_TEST(place.get().history(key, {}).size() == 2U);
}

template <class Place>
void prune_deletes_whole_threads(Place& place) {
  const auto subgraph = ss::thread_key{"t", "a:x"};
  for (const auto& of : std::vector<ss::thread_key>{key, subgraph, {"u", ""}})
    (void)maker{usual_layout(), of}.put(place.get(), 1, nullptr, {});
  place.get().put_effect("t", "k", ss::effect_record{});
  BOOST_TEST(place.get().prune({.thread_id = "t", .whole_threads = true}) == 2U);
  place.reopen();
  BOOST_TEST(place.get().head(key).empty());
  BOOST_TEST(place.get().head(subgraph).empty());
  BOOST_TEST(!place.get().find_effect("t", "k"));
  BOOST_TEST(place.get().threads().size() == 1U);
  (void)maker{usual_layout()}.put(place.get(), 1, nullptr, {}); // the id can be used again
  place.reopen();
  BOOST_TEST(place.get().head(key) == id_of(1));
  BOOST_TEST(place.get().prune({.whole_threads = true}) == 2U);
  BOOST_TEST(place.get().threads().empty());
}

/// A changed graph resumes a thread: its records have other channel and node numbers than the
/// checkpoint.
template <class Place>
void records_of_changed_graph_are_kept(Place& place) {
  const auto old = usual_layout();
  const auto changed = test_layout{}.last<int>("new").last<int>("n").log("log").done();
  (void)maker{old}.put(place.get(), 1, nullptr, {set_n(1)});
  const auto write = [&] {
    auto record = ended("b", 1);
    record.output->writes.push_back({1, false, ss::value{5}});
    return record;
  };
  const auto at = place.get().load(key, "", changed)->checkpoint;
  place.get().put_task(key, *at, write());
  place.reopen();
  const auto check = [&](const ss::thread_key& of) {
    BOOST_TEST(place.get().show(of)->at("tasks").as_array().size() == 1U);
    const auto back = place.get().load(of, "", changed);
    BOOST_REQUIRE(back->tasks.size() == 1U);
    const auto& output = back->tasks[0].output.value();
    BOOST_REQUIRE(output.writes.size() == 1U);
    BOOST_TEST(output.writes[0].channel == 1U);
    BOOST_TEST(output.writes[0].content.template as<int>() == 5);
    BOOST_TEST((output.targets == std::vector<std::uint32_t>{1}));
  };
  check(key);
  // the same for a checkpoint that was imported and not loaded yet
  place.get().import_thread("copy", ss::cut_thread(place.get().export_thread("t"), id_of(1)));
  const auto copy = ss::thread_key{"copy", ""};
  const auto listed = place.get().list(copy, {}, changed);
  place.get().put_task(copy, *listed.at(0).checkpoint, write());
  place.reopen();
  check(copy);
}

} // namespace checkpointer_contract
