// SPDX-License-Identifier: Apache-2.0
// The SQLite checkpointer: space, batching, leases, migration, encryption and file modes.
#include "checkpoint/checkpointer_contract.hpp"
#include "checkpoint/row_checkpointer.hpp"
#include "checkpoint/sqlite_fixtures.hpp"
#include "checkpoint/version_1.hpp"

#include <superstep/checkpoint/sqlite.hpp>

#include <filesystem>
#include <fstream>
#include <future>
#include <limits>
#include <string>

#include <sqlite3.h>

namespace ss = superstep;
using namespace checkpointer_contract;

BOOST_AUTO_TEST_SUITE(sqlite_checkpointer)

namespace {

ss::row_checkpointer::counts written(const ss::checkpointer& by) {
  return dynamic_cast<const ss::row_checkpointer&>(by).written();
}

std::shared_ptr<ss::checkpointer> open(const std::string& path, bool survives_power_loss = false,
                                       ss::sqlite_checkpointer_options options = {}) {
  options.survives_power_loss = survives_power_loss;
  options.busy_timeout = std::chrono::milliseconds{2'000};
  return ss::sqlite_checkpointer(path, options);
}

/// Runs SQL on the file through a separate connection.
void run_sql(const std::string& path, const std::string& sql) {
  auto* db = static_cast<sqlite3*>(nullptr);
  BOOST_REQUIRE(sqlite3_open(path.c_str(), &db) == SQLITE_OK);
  BOOST_TEST(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK,
             sqlite3_errmsg(db));
  sqlite3_close(db);
}

auto with_code(ss::checkpoint_errc code) {
  return [code](const ss::checkpoint_error& e) { return has_code(e, code); };
}

} // namespace

BOOST_AUTO_TEST_CASE(growing_list_takes_linear_space) {
  const auto folder = temporary_folder{};
  const auto layout = usual_layout();
  const auto bytes_after = [&](int steps) {
    const auto path = folder.file(std::to_string(steps));
    auto s = open(path);
    auto m = maker{layout};
    auto at = ss::checkpoint_ptr{};
    for (auto i = 1; i <= steps; ++i)
      at = m.put(*s, i, at, {add_log({"a line of some length, number " + std::to_string(i)})});
    s.reset();
    BOOST_TEST(!std::filesystem::exists(path + "-wal")); // closing moved the log into the file
    return static_cast<double>(std::filesystem::file_size(path));
  };
  const auto short_one = bytes_after(200);
  const auto long_one = bytes_after(1'000);
  BOOST_TEST(long_one < 5.5 * short_one);
  BOOST_TEST(long_one / 1'000 < 250);
}

BOOST_AUTO_TEST_CASE(growing_list_is_stored_as_deltas) {
  const auto folder = temporary_folder{};
  const auto layout = usual_layout();
  auto s = open(folder.file());
  auto m = maker{layout};
  auto at = ss::checkpoint_ptr{};
  auto all = std::vector<ss::checkpoint_ptr>{};
  for (auto i = 1; i <= 300; ++i) {
    auto w = add_log({std::string(600, 'x') + std::to_string(i)});
    w.overwrite = i % 20 == 0; // replaces the earlier lines
    all.push_back(at = m.put(*s, i, at, {std::move(w)}));
  }
  s.reset();
  auto* db = static_cast<sqlite3*>(nullptr);
  auto* counting = static_cast<sqlite3_stmt*>(nullptr);
  BOOST_REQUIRE(sqlite3_open(folder.file().c_str(), &db) == SQLITE_OK);
  BOOST_REQUIRE(sqlite3_prepare_v2(db, "SELECT count(*), sum(base IS NULL) FROM points", -1,
                                   &counting, nullptr) == SQLITE_OK);
  BOOST_REQUIRE(sqlite3_step(counting) == SQLITE_ROW);
  BOOST_TEST(sqlite3_column_int(counting, 0) == 300);
  BOOST_TEST(sqlite3_column_int(counting, 1) >= 2);
  BOOST_TEST(sqlite3_column_int(counting, 1) < 30);
  sqlite3_finalize(counting);
  sqlite3_close(db);
  s = open(folder.file());
  for (const auto& was : all)
    BOOST_TEST_REQUIRE((log_of(s->load(key, was->id, layout)->checkpoint) == log_of(was)));
  BOOST_TEST(log_of(all.back()).size() == 1U);
}

BOOST_AUTO_TEST_CASE(super_step_writes_one_row_in_shared_transaction) {
  const auto folder = temporary_folder{};
  auto options = ss::sqlite_checkpointer_options{};
  options.task_flush_delay = std::chrono::hours{1}; // no separate records, however slow the machine
  auto s = open(folder.file(), true, options);
  const auto layout = usual_layout();
  constexpr auto threads = 50;
  auto at = std::vector<ss::checkpoint_ptr>(threads);
  for (auto step = 1; step <= 5; ++step) {
    for (auto t = 0; t < threads; ++t) {
      const auto k = ss::thread_key{"t" + std::to_string(t), ""};
      if (step > 1)
        s->put_task(k, named(step - 1, layout), ended("a", 1));
      auto& last = at[static_cast<std::size_t>(t)];
      last = maker{layout, k}.put(*s, step, last, {set_n(step)});
    }
  }
  for (auto t = 0; t < threads; ++t)
    wait_until_saved(*s, {"t" + std::to_string(t), ""});
  BOOST_TEST(written(*s).rows == 5U * threads);
  BOOST_TEST(written(*s).transactions < written(*s).rows / 2);
}

BOOST_AUTO_TEST_CASE(detects_write_by_another_process) {
  const auto folder = temporary_folder{};
  const auto layout = usual_layout();
  auto ours = open(folder.file());
  auto theirs = open(folder.file());
  auto m = maker{layout};
  const auto first = m.put(*ours, 1, nullptr, {set_n(1)});
  wait_until_saved(*ours);
  const auto seen = theirs->load(key, "", layout)->checkpoint;
  (void)m.put(*theirs, 2, seen, {set_n(22)});
  wait_until_saved(*theirs);
  (void)m.put(*ours, 2, first, {set_n(2)}); // this process does not know of the other write
  wait_until_saved(*ours);
  BOOST_CHECK_EXCEPTION(ours->check(key), ss::checkpoint_error,
                        with_code(ss::checkpoint_errc::conflict));
  BOOST_TEST(n_of(ours->load(key, "", layout)->checkpoint) ==
             22); // the next run sees the stored state
  ours->check(key);
  (void)m.put(*ours, 3, ours->load(key, "", layout)->checkpoint, {set_n(3)});
  wait_until_saved(*ours);
  ours->check(key);
  BOOST_TEST(n_of(theirs->load(key, "", layout)->checkpoint) == 3);
}

BOOST_AUTO_TEST_CASE(detects_deletion_by_another_process) {
  const auto folder = temporary_folder{};
  const auto layout = usual_layout();
  auto ours = open(folder.file());
  auto m = maker{layout};
  const auto first = m.put(*ours, 1, nullptr, {set_n(1)});
  wait_until_saved(*ours);
  open(folder.file())->delete_thread("t");
  (void)maker{layout, {"u", ""}}.put(*ours, 1, nullptr, {set_n(1)});
  wait_until_saved(*ours, {"u", ""});
  ours->put_task(key, *first, ended("a", 1)); // the checkpoint is deleted: not stored
  (void)m.put(*ours, 2, first, {set_n(2)});
  wait_until_saved(*ours);
  BOOST_CHECK_EXCEPTION(ours->check(key), ss::checkpoint_error,
                        with_code(ss::checkpoint_errc::conflict));
  BOOST_TEST(open(folder.file())->head(key).empty());
}

BOOST_AUTO_TEST_CASE(detects_write_by_another_run) {
  const auto folder = temporary_folder{};
  auto s = open(folder.file());
  auto m = maker{usual_layout()};
  const auto first = m.put(*s, 1, nullptr, {set_n(1)});
  (void)m.put(*s, 2, first, {set_n(2)});
  BOOST_CHECK_EXCEPTION((void)m.put(*s, 2, first, {set_n(3)}), ss::checkpoint_error,
                        with_code(ss::checkpoint_errc::conflict));
}

BOOST_AUTO_TEST_CASE(value_that_cannot_be_serialized_is_rejected) {
  struct opaque {
    int* p = nullptr;
  };
  const auto folder = temporary_folder{};
  auto s = open(folder.file());
  const auto layout = test_layout{}.last<opaque>("o").done();
  BOOST_CHECK_EXCEPTION((void)maker{layout}.put(*s, 1, nullptr, {}), ss::checkpoint_error,
                        [](const ss::checkpoint_error& e) {
                          return has_code(e, ss::checkpoint_errc::not_storable) &&
                                 std::string{e.what()}.find("'o'") != std::string::npos;
                        });
}

BOOST_AUTO_TEST_CASE(in_memory_and_empty_database_paths_are_rejected) {
  for (const auto* path : {"", ":memory:", "file:threads.db?mode=memory"}) {
    BOOST_CHECK_EXCEPTION((void)open(path), ss::checkpoint_error,
                          with_code(ss::checkpoint_errc::failed));
    BOOST_TEST(!std::filesystem::exists(std::string{path} + "-lease"));
  }
}

BOOST_AUTO_TEST_CASE(largest_query_limit_returns_all_checkpoints) {
  const auto folder = temporary_folder{};
  const auto layout = usual_layout();
  auto s = open(folder.file());
  (void)maker{layout}.put(*s, 1, nullptr, {});
  auto query = ss::checkpoint_query{};
  constexpr auto most = std::numeric_limits<std::size_t>::max();
  query.limit = most;
  BOOST_TEST(s->list(key, query, layout).size() == 1U);
  BOOST_TEST(s->history(key, query).size() == 1U);
  BOOST_TEST(s->threads({}, most).size() == 1U);
}

BOOST_AUTO_TEST_CASE(thread_of_version_1_file_resumes_after_migration) {
  const auto folder = temporary_folder{};
  const auto layout = usual_layout();
  auto s = open(folder.file("today"));
  auto m = maker{layout};
  const auto first = m.put(*s, 1, nullptr, {add_log({"one"})});
  (void)m.put(*s, 2, first, {add_log({"two"}), set_n(2)});
  s->put_task(key, named(2, layout), ended("a", 1));
  s.reset();
  make_version_1(folder.file(), folder.file("today"));
  run_sql(folder.file(), R"(INSERT INTO items (ns, key, value) VALUES (x'75', 'k', '{"x":1}'))");
  s = open(folder.file());
  BOOST_TEST(ask_sql(folder.file(), "PRAGMA user_version") == 4);
  const auto back = *s->load(key, "", layout);
  BOOST_TEST((log_of(back.checkpoint) == log_type{"one", "two"} && back.tasks.size() == 1));
  BOOST_TEST(s->list(key, {}, layout).size() == 2U);
  (void)m.put(*s, 3, back.checkpoint, {add_log({"three"})});
  s->put_effect(key.thread_id, "e", ss::effect_record{true, "done"}); // version 1 had no effects
  wait_until_saved(*s);
  s->check(key);
  BOOST_TEST(s->find_effect(key.thread_id, "e").value().result == "done");
  s.reset();
  BOOST_TEST((log_of(open(folder.file())->load(key, "", layout)->checkpoint) ==
              log_type{"one", "two", "three"}));
  BOOST_TEST(ss::sqlite_store{folder.file()}.get({"u"}, "k").value().at("x") == 1);
}

BOOST_AUTO_TEST_CASE(files_of_newer_or_other_formats_are_rejected) {
  const auto folder = temporary_folder{};
  (void)open(folder.file());
  run_sql(folder.file(), "PRAGMA user_version = 99");
  const auto before = bytes_of(folder.file());
  BOOST_CHECK_EXCEPTION((void)open(folder.file()), ss::checkpoint_error,
                        with_code(ss::checkpoint_errc::newer_format));
  BOOST_TEST((bytes_of(folder.file()) == before));
  run_sql(folder.file("other"), "CREATE TABLE mine (x)");
  BOOST_CHECK_EXCEPTION((void)open(folder.file("other")), ss::checkpoint_error,
                        with_code(ss::checkpoint_errc::corrupt));
  std::ofstream{folder.file("text")} << std::string(5'000, 'x');
  BOOST_CHECK_EXCEPTION((void)open(folder.file("text")), ss::checkpoint_error,
                        with_code(ss::checkpoint_errc::corrupt));
  BOOST_CHECK_EXCEPTION((void)open(folder.file("no/folder/here")), ss::checkpoint_error,
                        with_code(ss::checkpoint_errc::failed));
}

/// A concurrent open must see either no file or a complete one, never one that is being created.
BOOST_AUTO_TEST_CASE(concurrent_opens_of_new_file_all_succeed) {
  const auto folder = temporary_folder{};
  for (auto i = 0; i < 50; ++i) {
    auto all = std::vector<std::future<std::shared_ptr<ss::checkpointer>>>{};
    for (auto t = 0; t < 4; ++t)
      all.push_back(std::async(std::launch::async,
                               [path = folder.file(std::to_string(i))] { return open(path); }));
    for (auto& one : all)
      BOOST_CHECK_NO_THROW(one.get());
  }
}

BOOST_AUTO_TEST_CASE(damaged_row_is_reported_and_other_rows_load) {
  const auto folder = temporary_folder{};
  const auto layout = usual_layout();
  auto s = open(folder.file());
  auto m = maker{layout};
  const auto first = m.put(*s, 1, nullptr, {add_log({"first"})});
  (void)m.put(*s, 2, first, {add_log({"second"})});
  s.reset();
  run_sql(folder.file(),
          "UPDATE points SET row = replace(row, 'second', 'SECOND') WHERE id = '" + id_of(2) + "'");
  s = open(folder.file());
  BOOST_CHECK_EXCEPTION((void)s->load(key, "", layout), ss::checkpoint_error,
                        with_code(ss::checkpoint_errc::corrupt));
  BOOST_TEST((log_of(s->load(key, id_of(1), layout)->checkpoint) == log_type{"first"}));
}

BOOST_AUTO_TEST_CASE(prune_without_age_ignores_the_clock) {
  const auto folder = temporary_folder{};
  auto s = open(folder.file());
  (void)maker{usual_layout()}.put(*s, 1, nullptr, {});
  s.reset();
  run_sql(folder.file(), "UPDATE points SET made = made + 3600"); // by a clock that is ahead
  s = open(folder.file());
  BOOST_TEST(s->prune({.older_than = std::chrono::seconds{1}, .whole_threads = true}) == 0U);
  BOOST_TEST(s->prune({.whole_threads = true}) == 1U);
  BOOST_TEST(s->threads().empty());
}

BOOST_AUTO_TEST_CASE(destructor_writes_queued_checkpoints) {
  const auto folder = temporary_folder{};
  const auto layout = usual_layout();
  auto s = open(folder.file());
  put_one_and_its_task(*s, layout);
  s.reset();
  const auto back = *open(folder.file())->load(key, "", layout);
  BOOST_TEST((n_of(back.checkpoint) == 1 && back.tasks.size() == 1));
}

namespace {

using lent = ss::result<ss::lease_ptr>;

std::future<lent> take(ss::checkpointer& from, const std::string& thread, ss::busy_policy choice) {
  auto given = std::make_shared<std::promise<lent>>();
  from.take(thread, choice, [given](lent l) { given->set_value(std::move(l)); });
  return given->get_future();
}

bool is_refused(ss::checkpointer& to, const std::string& thread = "t") {
  const auto got = take(to, thread, ss::busy_policy::refuse).get();
  return !got && got.error().code == ss::checkpoint_errc::in_use;
}

} // namespace

// An interrupted step adds records, but no checkpoint.
BOOST_AUTO_TEST_CASE(load_finds_task_records_of_another_process) {
  const auto folder = temporary_folder{};
  const auto ours = open(folder.file());
  const auto theirs = open(folder.file()); // as another process would
  const auto layout = usual_layout();
  auto m = maker{layout};
  (void)m.put(*ours, 1, nullptr, {set_n(1)});
  wait_until_saved(*ours);
  BOOST_TEST(ours->load(key, "", layout)->tasks.empty());
  const auto add = [&](ss::checkpointer& to, const char* task) {
    BOOST_TEST_REQUIRE(to.load(key, "", layout).has_value());
    to.put_task(key, named(1, layout), ended(task, 1));
    wait_until_saved(to);
  };
  add(*theirs, "a");
  BOOST_TEST(ours->load(key, "", layout)->tasks.size() == 1U);
  add(*ours, "b");
  BOOST_TEST(theirs->load(key, "", layout)->tasks.size() == 2U);
  add(*theirs, "c");
  BOOST_TEST(ours->load(key, id_of(1), layout)->tasks.size() == 3U);
}

BOOST_AUTO_TEST_CASE(lease_is_exclusive_among_processes) {
  const auto folder = temporary_folder{};
  auto ours = open(folder.file());
  auto theirs = open(folder.file()); // as another process would
  auto first = take(*ours, "t", ss::busy_policy::wait).get();
  BOOST_TEST((first.has_value() && (*first)->is_held()));
  const auto refused = take(*theirs, "t", ss::busy_policy::refuse).get();
  BOOST_TEST((refused.error().code == ss::checkpoint_errc::in_use));
  BOOST_TEST(take(*theirs, "u", ss::busy_policy::refuse).get().has_value());
  BOOST_TEST(take(*theirs, "t", ss::busy_policy::take_over).get().has_value());
  auto waiting = take(*theirs, "t", ss::busy_policy::wait);
  BOOST_TEST((waiting.wait_for(std::chrono::seconds{0}) == std::future_status::timeout));
  first = ss::lease_ptr{};
  auto second = waiting.get();
  BOOST_TEST(second.has_value());
  // Closing the checkpointer reports an error to runs that still wait for a lease.
  auto late = take(*ours, "t", ss::busy_policy::wait);
  ours.reset();
  const auto got = late.get();
  BOOST_TEST((!got && got.error().code == ss::checkpoint_errc::in_use));
}

BOOST_AUTO_TEST_CASE(lease_take_over_is_seen_by_all_processes) {
  const auto folder = temporary_folder{};
  const auto ours = open(folder.file());
  const auto theirs = open(folder.file());
  const auto third = open(folder.file());
  auto first = take(*ours, "t", ss::busy_policy::wait).get().value();
  const auto other = take(*ours, "u", ss::busy_policy::wait).get().value();
  auto second = take(*theirs, "t", ss::busy_policy::take_over).get().value();
  BOOST_TEST((!first->is_held() && second->is_held() && other->is_held()));
  BOOST_TEST(is_refused(*third));
  first.reset(); // this lease has been taken over, so its end must not release the thread
  BOOST_TEST((is_refused(*third) && is_refused(*ours) && second->is_held()));
  auto back = take(*ours, "t", ss::busy_policy::take_over).get().value();
  BOOST_TEST((!second->is_held() && back->is_held()));
  second.reset();
  auto waiting = take(*third, "t", ss::busy_policy::wait);
  BOOST_TEST((waiting.wait_for(std::chrono::seconds{0}) == std::future_status::timeout));
  back.reset();
  BOOST_TEST(waiting.get().value()->is_held());
  BOOST_TEST(!is_refused(*theirs));
}

BOOST_AUTO_TEST_CASE(process_takes_back_lease_that_was_taken_over) {
  const auto folder = temporary_folder{};
  const auto ours = open(folder.file());
  const auto theirs = open(folder.file());
  const auto first = take(*ours, "t", ss::busy_policy::wait).get().value();
  const auto second = take(*theirs, "t", ss::busy_policy::take_over).get().value();
  const auto third = take(*ours, "t", ss::busy_policy::take_over).get().value();
  BOOST_TEST((!first->is_held() && !second->is_held() && third->is_held()));
}

BOOST_AUTO_TEST_CASE(leases_exclude_checkpointers_opened_through_symbolic_link) {
  const auto folder = temporary_folder{};
  const auto ours = open(folder.file());
  std::filesystem::create_symlink(folder.file(), folder.file("link"));
  const auto theirs = open(folder.file("link"));
  const auto held = take(*ours, "t", ss::busy_policy::wait).get().value();
  BOOST_TEST(is_refused(*theirs));
  BOOST_TEST(!is_refused(*theirs, "u"));
}

BOOST_AUTO_TEST_CASE(file_requires_the_key_it_was_written_with) {
  const auto folder = temporary_folder{};
  const auto layout = usual_layout();
  auto options = ss::sqlite_checkpointer_options{};
  options.encryption_key = std::string(ss::encryption_key_bytes, 'k');
  {
    auto s = open(folder.file(), false, options);
    const auto first = maker{layout}.put(*s, 1, nullptr, {add_log({"a secret"})});
    s->put_task(key, named(1, layout), ended("secret task", 1));
    s->put_effect("t", "effect", ss::effect_record{true, "secret result"});
    wait_until_saved(*s);
  }
  BOOST_TEST(bytes_of(folder.file()).find("secret") == std::string::npos);
  auto s = open(folder.file(), false, options);
  BOOST_TEST((log_of(s->load(key, "", layout)->checkpoint) == log_type{"a secret"}));
  BOOST_TEST(s->load(key, "", layout)->tasks.at(0).task == "secret task");
  BOOST_TEST(s->find_effect("t", "effect")->result == "secret result");
  // Exported threads are not encrypted.
  BOOST_TEST(s->export_thread("t").find("a secret") != std::string::npos);
  s.reset();
  const auto wrong = with_code(ss::checkpoint_errc::wrong_key);
  options.encryption_key.back() = 'x';
  BOOST_CHECK_EXCEPTION((void)open(folder.file(), false, options), ss::checkpoint_error, wrong);
  options.encryption_key = "short";
  BOOST_CHECK_EXCEPTION((void)open(folder.file(), false, options), ss::checkpoint_error, wrong);
  BOOST_CHECK_EXCEPTION((void)open(folder.file()), ss::checkpoint_error, wrong);
  (void)maker{layout}.put(*open(folder.file("plain")), 1, nullptr, {});
  options.encryption_key = std::string(ss::encryption_key_bytes, 'k');
  BOOST_CHECK_EXCEPTION((void)open(folder.file("plain"), false, options), ss::checkpoint_error,
                        wrong);
}

BOOST_AUTO_TEST_CASE(file_rejects_checkpointer_with_another_owner) {
  const auto folder = temporary_folder{};
  const auto layout = usual_layout();
  const auto refused = with_code(ss::checkpoint_errc::wrong_owner);
  const auto open_as = [&](const std::string& name, const char* owner) {
    auto options = ss::sqlite_checkpointer_options{};
    options.owner = owner;
    return open(folder.file(name), false, options);
  };
  (void)open_as("owned", "job 1"); // the owner is recorded in an empty file too
  BOOST_TEST(ss::sqlite_owner(folder.file("owned")).value() == "job 1");
  for (const auto* other : {"job 2", "job", "job 11", ""})
    BOOST_CHECK_EXCEPTION((void)open_as("owned", other), ss::checkpoint_error, refused);
  (void)maker{layout}.put(*open_as("owned", "job 1"), 1, nullptr, {});
  BOOST_TEST(open(folder.file("owned"))->threads().size() ==
             1U); // a checkpointer without an owner may inspect the file
  BOOST_CHECK_EXCEPTION((void)open_as("owned", "job 2"), ss::checkpoint_error, refused);

  (void)maker{layout}.put(*open_as("chat", ""), 1, nullptr, {});
  BOOST_TEST(!ss::sqlite_owner(folder.file("chat")));
  BOOST_CHECK_EXCEPTION((void)open_as("chat", "job 1"), ss::checkpoint_error, refused);
  BOOST_TEST(open_as("chat", "")->threads().size() == 1U);
  BOOST_TEST(!ss::sqlite_owner(folder.file("missing")));
  BOOST_TEST(!std::filesystem::exists(folder.file("missing")));
}

BOOST_AUTO_TEST_CASE(database_files_have_mode_0600) {
  const auto folder = temporary_folder{};
  (void)maker{usual_layout()}.put(*open(folder.file()), 1, nullptr, {});
  namespace fs = std::filesystem;
  for (const auto& entry : fs::directory_iterator{fs::path{folder.file()}.parent_path()})
    BOOST_TEST(((entry.status().permissions() & fs::perms::all) ==
                (fs::perms::owner_read | fs::perms::owner_write)),
               entry.path());
}

BOOST_AUTO_TEST_CASE(moved_encrypted_effect_record_is_reported_as_corrupt) {
  const auto folder = temporary_folder{};
  const auto layout = usual_layout();
  auto options = ss::sqlite_checkpointer_options{};
  options.encryption_key = std::string(ss::encryption_key_bytes, 'k');
  auto s = open(folder.file(), false, options);
  s->put_effect("t", "one", ss::effect_record{true, "done"});
  s->put_effect("t", "two", ss::effect_record{true, "gone"});
  wait_until_saved(*s);
  run_sql(folder.file(),
          "UPDATE effects SET row = (SELECT row FROM effects WHERE key = 'one'), sum "
          "= (SELECT sum FROM effects WHERE key = 'one') WHERE key = 'two'");
  BOOST_TEST(s->find_effect("t", "one")->result == "done");
  BOOST_CHECK_EXCEPTION((void)s->find_effect("t", "two"), ss::checkpoint_error,
                        with_code(ss::checkpoint_errc::corrupt));
}

BOOST_AUTO_TEST_CASE(key_from_environment_needs_64_hexadecimal_digits) {
  const auto name = "SUPERSTEP_TEST_KEY";
  BOOST_TEST(ss::encryption_key_from_environment(name).empty());
  ::setenv(name, "00ffA0", 1);
  BOOST_CHECK_EXCEPTION((void)ss::encryption_key_from_environment(name), ss::checkpoint_error,
                        with_code(ss::checkpoint_errc::wrong_key));
  ::setenv(name, (std::string(62, '0') + "fA").c_str(), 1);
  BOOST_TEST(ss::encryption_key_from_environment(name) == std::string(31, '\0') + "\xfa");
  ::unsetenv(name);
}

BOOST_AUTO_TEST_SUITE_END()
