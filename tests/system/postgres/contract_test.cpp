// SPDX-License-Identifier: Apache-2.0
// The contract of checkpointers on a PostgreSQL server, and what only this checkpointer does: its
// schema, its key and the errors for servers that cannot be used.
#include "checkpoint/checkpointer_cases.hpp"
#include "checkpoint/sqlite_fixtures.hpp"
#include "system/postgres/postgres_place.hpp"

#include <superstep/checkpoint/memory_checkpointer.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

namespace {

namespace ss = superstep;
namespace contract = checkpointer_contract;
using contract::has_code;
using ss::testing::clear_database;
using ss::testing::quick_options;
using ss::testing::shared_server;

/// A checkpointer whose threads remain cached in memory.
class in_database {
public:
  in_database() {
    clear_database();
    open();
  }
  ss::checkpointer& get() { return *checkpointer_; }
  void reopen() {}

protected:
  void open() { checkpointer_ = ss::postgres_checkpointer(shared_server().url(), quick_options()); }
  std::shared_ptr<ss::checkpointer> checkpointer_;
};

/// A checkpointer that reads everything from the database.
class in_reopened_database : public in_database {
public:
  void reopen() {
    checkpointer_.reset();
    open();
  }
};

struct in_memory {
  std::shared_ptr<ss::checkpointer> checkpointer = ss::memory_checkpointer();
  ss::checkpointer& get() { return *checkpointer; }
  void reopen() {}
};

using places = std::tuple<in_database, in_reopened_database>;

std::shared_ptr<ss::checkpointer> open_with_key(const std::string& key) {
  auto options = quick_options();
  options.encryption_key = key;
  return ss::postgres_checkpointer(shared_server().url(), options);
}

auto reports(ss::checkpoint_errc code, std::vector<std::string> parts) {
  return [code, parts = std::move(parts)](const ss::checkpoint_error& e) {
    const auto text = std::string{e.what()};
    return has_code(e, code) && std::ranges::all_of(parts, [&](const std::string& part) {
             return text.find(part) != std::string::npos;
           });
  };
}

} // namespace

BOOST_AUTO_TEST_SUITE(postgres_contract)

#define CONTRACT(name)                                                                             \
  BOOST_AUTO_TEST_CASE_TEMPLATE(name, Place, places) {                                             \
    auto place = Place{};                                                                          \
    contract::name(place);                                                                         \
  }

CHECKPOINTER_CONTRACT(CONTRACT)

#undef CONTRACT

BOOST_AUTO_TEST_CASE(threads_move_between_all_checkpointers) {
  const auto move = [](auto from, auto to) {
    contract::import_restores_exported_thread(*from, *to);
  };
  move(std::make_unique<in_memory>(), std::make_unique<in_reopened_database>());
  move(std::make_unique<in_reopened_database>(), std::make_unique<in_memory>());
  move(std::make_unique<in_reopened_file>(), std::make_unique<in_reopened_database>());
  move(std::make_unique<in_reopened_database>(), std::make_unique<in_reopened_file>());
}

BOOST_AUTO_TEST_CASE(runs_of_one_batch_share_a_transaction) {
  clear_database();
  auto options = quick_options();
  options.survives_power_loss = false;
  const auto s = ss::postgres_checkpointer(shared_server().url(), options);
  const auto transactions = [] {
    return std::stoll(shared_server().value(
        "select last from superstep_threads.writers order by writer desc limit 1"));
  };
  constexpr auto threads = 400;
  const auto key_of = [](int t) { return ss::thread_key{"t" + std::to_string(t), ""}; };
  for (auto t = 0; t < threads; ++t)
    BOOST_TEST(s->head(key_of(t)).empty()); // otherwise put() would read it
  for (auto t = 0; t < threads; ++t)
    (void)contract::maker{contract::usual_layout(), key_of(t)}.put(*s, 1, nullptr,
                                                                   {contract::set_n(t)});
  for (auto t = 0; t < threads; ++t)
    contract::settle(*s, key_of(t));
  BOOST_TEST(transactions() < threads / 4);
  BOOST_TEST(shared_server().value("select count(*) from superstep_threads.points") == "400");
}

BOOST_AUTO_TEST_CASE(rejected_write_does_not_affect_other_threads) {
  auto place = in_database{};
  const auto bad = ss::thread_key{std::string{"a\0b", 3}, ""}; // PostgreSQL has no NUL in texts
  auto good = std::vector<ss::thread_key>{{"t1", ""}, {"t2", ""}};
  (void)contract::maker{contract::usual_layout(), good[0]}.put(place.get(), 1, nullptr, {});
  auto bad_maker = contract::maker{contract::usual_layout(), bad};
  BOOST_CHECK_THROW((void)bad_maker.put(place.get(), 1, nullptr, {}), ss::checkpoint_error);
  (void)contract::maker{contract::usual_layout(), good[1]}.put(place.get(), 1, nullptr, {});
  for (const auto& key : good) {
    contract::settle(place.get(), key);
    place.get().check(key);
    BOOST_TEST(place.get().head(key) == contract::id_of(1));
  }
}

BOOST_AUTO_TEST_CASE(rows_are_encrypted_with_key_of_database) {
  clear_database();
  const auto key = std::string(ss::encryption_key_bytes, 'k');
  {
    const auto s = open_with_key(key);
    (void)contract::maker{contract::usual_layout()}.put(*s, 1, nullptr,
                                                        {contract::add_log({"confidential"})});
    s->put_effect("t", "e", ss::effect_record{true, "confidential"});
    contract::settle(*s);
    s->check(contract::key);
  }
  for (const auto* table : {"points", "effects"})
    BOOST_TEST(shared_server().value("select count(*) from superstep_threads." +
                                     std::string{table} + " where position('confidential' in " +
                                     "encode(row, 'escape')) > 0") == "0");
  BOOST_TEST(
      (contract::log_of(
           open_with_key(key)->load(contract::key, "", contract::usual_layout())->checkpoint) ==
       contract::log_type{"confidential"}));
  for (const auto& wrong : {std::string{}, std::string(ss::encryption_key_bytes, 'x')})
    BOOST_CHECK_EXCEPTION((void)open_with_key(wrong), ss::checkpoint_error,
                          reports(ss::checkpoint_errc::wrong_key, {"is encrypted"}));
}

BOOST_AUTO_TEST_CASE(newer_schema_is_refused_without_a_change) {
  clear_database();
  (void)open_with_key({});
  shared_server().run("update superstep_threads.format set version = 99");
  BOOST_CHECK_EXCEPTION((void)open_with_key({}), ss::checkpoint_error,
                        reports(ss::checkpoint_errc::newer_format, {"format 99"}));
}

/// Opens checkpointers at the same time, as processes do. Returns how many could not be opened.
int failures_of_concurrent_opens() {
  auto failed = std::atomic<int>{0};
  {
    auto all = std::vector<std::jthread>{};
    for (auto i = 0; i < 6; ++i)
      all.emplace_back([&] {
        try {
          (void)open_with_key({});
        } catch (const std::exception& e) {
          BOOST_TEST_MESSAGE(e.what());
          ++failed;
        }
      });
  }
  return failed;
}

BOOST_AUTO_TEST_CASE(processes_create_the_schema_at_the_same_time) {
  clear_database();
  BOOST_TEST(failures_of_concurrent_opens() == 0);
}

BOOST_AUTO_TEST_CASE(schema_is_created_at_any_default_isolation_level) {
  for (const auto* level : {"repeatable read", "serializable"}) {
    clear_database();
    shared_server().run("alter role current_user set default_transaction_isolation = '" +
                        std::string{level} + '\'');
    BOOST_TEST(failures_of_concurrent_opens() == 0, level);
    shared_server().run("alter role current_user reset default_transaction_isolation");
  }
}

BOOST_AUTO_TEST_CASE(deletion_waits_longer_than_lock_timeout_of_role) {
  clear_database();
  shared_server().run("alter role current_user set lock_timeout = '10ms'");
  const auto s = open_with_key({});
  (void)contract::maker{contract::usual_layout()}.put(*s, 1, nullptr, {});
  contract::settle(*s);
  auto other = shared_server().connect(); // as another process that deletes
  const auto run = [&](const char* statement) { BOOST_TEST(other.run(statement).has_value()); };
  run("select pg_advisory_lock(hashtext('superstep_threads'))");
  auto deleted = std::async(std::launch::async, [&] { s->delete_thread(contract::key.thread_id); });
  BOOST_TEST((deleted.wait_for(std::chrono::milliseconds{100}) == std::future_status::timeout));
  run("select pg_advisory_unlock(hashtext('superstep_threads'))");
  BOOST_CHECK_NO_THROW(deleted.get());
  BOOST_TEST(s->head(contract::key).empty());
  shared_server().run("alter role current_user reset lock_timeout");
}

BOOST_AUTO_TEST_CASE(errors_of_unusable_servers_contain_no_password) {
  auto options = quick_options();
  options.reconnect_timeout = std::chrono::milliseconds{100};
  for (const auto& [url, part] : std::vector<std::pair<std::string, std::string>>{
           {"postgresql://me:hunter2@localhost/db", "must not contain a password"},
           {"postgresql://db.example.com/db?sslmode=require", "sslmode=verify-full"},
           {"postgresql:///db?host=/nonexistent", "cannot be reached"},
           {"threads.db", "must start with postgresql://"}})
    BOOST_CHECK_EXCEPTION((void)ss::postgres_checkpointer(url, options), ss::checkpoint_error,
                          ([&, part = part](const ss::checkpoint_error& e) {
                            return reports(ss::checkpoint_errc::failed, {part})(e) &&
                                   std::string{e.what()}.find("hunter2") == std::string::npos;
                          }));
}

BOOST_AUTO_TEST_SUITE_END()
