// SPDX-License-Identifier: Apache-2.0
// A thread with a damaged checkpoint: what can still be read, and copied.
#include "checkpoint/checkpointer_contract.hpp"
#include "checkpoint/open_database.hpp"
#include "checkpoint/sqlite_fixtures.hpp"
#include "checkpoint/version_1.hpp"

#include <superstep/checkpoint/sqlite.hpp>

#include <memory>
#include <string>

namespace ss = superstep;
using namespace checkpointer_contract;

BOOST_AUTO_TEST_SUITE(damaged_thread)

namespace {

/// A thread with five checkpoints, of which the fourth is damaged.
struct with_damage {
  with_damage() {
    {
      const auto s = open_checkpointer(folder.file());
      auto m = maker{usual_layout()};
      auto at = ss::checkpoint_ptr{};
      for (auto i = 1; i <= 5; ++i) {
        at = m.put(*s, i, at, {add_log({std::to_string(i)})});
        s->put_task(key, *at, ended("a", 1));
      }
      const auto of_subgraph = ss::thread_key{"t", "a:x"};
      (void)maker{usual_layout(), of_subgraph}.put(*s, 2, nullptr, {});
      (void)maker{usual_layout(), of_subgraph}.put(*s, 4, nullptr, {});
      settle(*s);
      settle(*s, of_subgraph);
    }
    (void)ask_sql(folder.file(), "UPDATE points SET row = x'7b7d' WHERE id = '" + id_of(4) + "'");
    saved = open_checkpointer(folder.file());
  }
  temporary_folder folder;
  std::shared_ptr<ss::checkpointer> saved;
};

bool is_corrupt(const ss::checkpoint_error& e) {
  return has_code(e, ss::checkpoint_errc::corrupt);
}

} // namespace

BOOST_AUTO_TEST_CASE(history_lists_damaged_checkpoint_with_error) {
  const auto at = with_damage{};
  const auto found = at.saved->history(key, {});
  BOOST_REQUIRE(found.size() == 5U);
  for (auto i = std::size_t{0}; i < 5; ++i) {
    BOOST_TEST(found[i].at("id") == json::string_view{id_of(5 - static_cast<int>(i))});
    BOOST_TEST(found[i].contains("error") == (i == 1));
    BOOST_TEST(found[i].contains("next") == (i != 1));
  }
  BOOST_TEST(at.saved->history(key, {.limit = 1, .metadata = {{"run_id", "r"}}}).empty());
}

BOOST_AUTO_TEST_CASE(older_checkpoints_of_damaged_one_are_listed) {
  const auto at = with_damage{};
  const auto layout = usual_layout();
  BOOST_CHECK_EXCEPTION((void)at.saved->list(key, {}, layout), ss::checkpoint_error, is_corrupt);
  const auto older = at.saved->list(key, {.before = id_of(4)}, layout);
  BOOST_REQUIRE(older.size() == 3U);
  BOOST_TEST(log_of(older.front().checkpoint).size() == 3U);
}

BOOST_AUTO_TEST_CASE(thread_is_exported_up_to_checkpoint_before_damage) {
  const auto at = with_damage{};
  BOOST_CHECK_EXCEPTION((void)at.saved->export_thread("t"), ss::checkpoint_error, is_corrupt);
  BOOST_CHECK_EXCEPTION((void)ss::detail::export_until(*at.saved, "t", id_of(4)),
                        ss::checkpoint_error, is_corrupt);
  at.saved->import_thread("copy", ss::detail::export_until(*at.saved, "t", id_of(3)));
  const auto copy = at.saved->load({"copy", ""}, "", usual_layout());
  BOOST_TEST(log_of(copy->checkpoint).size() == 3U);
  BOOST_TEST(copy->tasks.empty());
  BOOST_TEST(at.saved->load({"copy", ""}, id_of(2), usual_layout())->tasks.size() == 1U);
  BOOST_TEST(at.saved->history({"copy", "a:x"}, {}).size() == 1U);
  BOOST_CHECK_THROW((void)ss::detail::export_until(*at.saved, "t", "00000009"),
                    ss::checkpoint_error);
}

BOOST_AUTO_TEST_CASE(export_without_base_is_refused) {
  const auto at = with_damage{};
  (void)ask_sql(at.folder.file(), "DELETE FROM points WHERE id = '" + id_of(4) + "'");
  BOOST_CHECK_EXCEPTION((void)at.saved->export_thread("t"), ss::checkpoint_error, is_corrupt);
  at.saved->import_thread("copy", ss::detail::export_until(*at.saved, "t", id_of(3)));
  BOOST_TEST(at.saved->head({"copy", ""}) == id_of(3));
}

BOOST_AUTO_TEST_CASE(damaged_layout_is_reported_with_its_file) {
  for (const auto* text : {"''", "'not json'", "'[]'", "'{\"channels\": 1}'"}) {
    const auto at = with_damage{};
    (void)ask_sql(at.folder.file(), std::string{"UPDATE layouts SET text = "} + text);
    const auto names_file = [&](const ss::checkpoint_error& e) {
      return is_corrupt(e) &&
             std::string_view{e.what()}.find(at.folder.file()) != std::string::npos;
    };
    BOOST_CHECK_EXCEPTION((void)at.saved->show(key), ss::checkpoint_error, names_file);
    BOOST_CHECK_EXCEPTION((void)at.saved->export_thread("t"), ss::checkpoint_error, names_file);
  }
}

BOOST_AUTO_TEST_CASE(export_until_truncates_intact_thread_like_cut_thread) {
  const auto folder = temporary_folder{};
  const auto s = open_checkpointer(folder.file());
  auto m = maker{usual_layout()};
  auto at = ss::checkpoint_ptr{};
  for (auto i = 1; i <= 4; ++i) {
    at = m.put(*s, i, at, {add_log({std::to_string(i)})});
    s->put_task(key, *at, ended("a", 1));
  }
  const auto all = s->export_thread("t");
  BOOST_TEST(ss::detail::export_until(*s, "t", {}) == all);
  for (auto i = 1; i <= 4; ++i)
    BOOST_TEST(ss::detail::export_until(*s, "t", id_of(i)) == ss::cut_thread(all, id_of(i)));
}

BOOST_AUTO_TEST_SUITE_END()
