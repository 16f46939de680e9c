// SPDX-License-Identifier: Apache-2.0
// Leases on threads between processes that share a PostgreSQL database. Two checkpointers of one
// process behave like those of two processes.
#include "checkpoint/checkpointer_contract.hpp"
#include "system/postgres/postgres_place.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace ss = superstep;
namespace contract = checkpointer_contract;
using namespace ss::testing;
using ss::busy_policy;
using std::chrono::milliseconds;

using future_lease = std::future<ss::result<ss::lease_ptr>>;

future_lease ask(ss::checkpointer& s, busy_policy how, const std::string& thread = "t") {
  auto lent = std::make_shared<std::promise<ss::result<ss::lease_ptr>>>();
  auto out = lent->get_future();
  s.take(thread, how, [lent](auto got) { lent->set_value(std::move(got)); });
  return out;
}

ss::lease_ptr take(ss::checkpointer& s, busy_policy how = busy_policy::refuse,
                   const std::string& thread = "t") {
  auto got = ask(s, how, thread).get();
  BOOST_TEST_REQUIRE(got.has_value(), (got ? std::string{} : got.error().text));
  return *std::move(got);
}

bool is_refused(ss::checkpointer& s) {
  const auto got = ask(s, busy_policy::refuse).get();
  return !got && got.error().code == make_error_code(ss::checkpoint_errc::in_use);
}

/// Waits until a condition holds, at most ten seconds.
template <class Condition>
bool becomes_true(const Condition& is_met) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds{10};
  while (!is_met()) {
    if (std::chrono::steady_clock::now() > limit)
      return false;
    std::this_thread::sleep_for(milliseconds{5});
  }
  return true;
}

struct two_processes {
  two_processes() {
    clear_database();
    one = open();
    two = open();
  }
  static std::shared_ptr<ss::checkpointer> open() {
    return ss::postgres_checkpointer(shared_server().url(), quick_options());
  }
  std::shared_ptr<ss::checkpointer> one;
  std::shared_ptr<ss::checkpointer> two;
};

/// Calls the functions of the database as holder 7, whose process is killed, and as holder 8.
struct killed_holder : two_processes { // creates the functions
  killed_holder()
      : writer_{std::to_string(number(killed, "select superstep_threads.add_writer()"))} {}

  /// Returns the number that a statement selects.
  static ss::result<std::int64_t> try_number(ss::detail::pg_connection& connection,
                                             const std::string& statement) {
    const auto rows = connection.run(statement.c_str());
    if (!rows)
      return rows.error();
    return rows->number(0, 0);
  }
  /// Runs a statement on another thread, which must not use Boost.Test: it is not thread-safe.
  static std::future<ss::result<std::int64_t>> number_async(ss::detail::pg_connection& connection,
                                                            std::string statement) {
    return std::async(std::launch::async, [&connection, statement = std::move(statement)] {
      return try_number(connection, statement);
    });
  }
  static std::int64_t number(ss::detail::pg_connection& connection, const std::string& statement) {
    const auto found = try_number(connection, statement);
    BOOST_TEST_REQUIRE(found.has_value(), (found ? std::string{} : found.error().text));
    return *found;
  }
  static void run(ss::detail::pg_connection& connection, const char* script) {
    const auto done = connection.run_script(script);
    BOOST_TEST_REQUIRE(done.has_value(), (done ? std::string{} : done.error().text));
  }
  void take_thread(int ms) {
    fence_ = std::to_string(number(killed, "select o_fence from superstep_threads.take_leases(7, "
                                           "'{t}', " +
                                               std::to_string(ms) + ", false)"));
  }
  /// Begins an effect. Returns the conflicts.
  std::string save(int statement) {
    const auto rows = killed.run(
        ("select superstep_threads.save(" + writer_ + ", " + std::to_string(statement) +
         ", 7, 0, true, '{t}', '{\"\"}', '{" + fence_ +
         "}', array[null::text], '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', "
         "'{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{1}', '{effect-" +
         std::to_string(statement) + "}', '{0}', '{0}', array[''::bytea])")
            .c_str());
    BOOST_TEST_REQUIRE(rows.has_value(), (rows ? std::string{} : rows.error().text));
    return std::string{rows->text(0, 0)};
  }
  /// Waits until a number of statements wait for the saves of a holder.
  static bool wait_for_lock_waits(ss::detail::pg_connection& by, int count) {
    return becomes_true([&] {
      return number(by, "select count(*) from pg_locks where locktype = 'advisory' and not "
                        "granted") == count;
    });
  }
  /// Fails if a take-over of the thread does not wait.
  void check_that_take_over_waits() {
    run(next, "set lock_timeout = '100ms'");
    const auto too_early = next.run(take_over.c_str());
    BOOST_TEST_REQUIRE(!too_early.has_value());
    BOOST_TEST(too_early.error().text.find("55P03") != std::string::npos, too_early.error().text);
    run(next, "reset lock_timeout");
  }

  const std::string take_over =
      "select count(*) from superstep_threads.take_leases(8, '{t}', 60000, false)";
  ss::detail::pg_connection killed = shared_server().connect();
  ss::detail::pg_connection next = shared_server().connect();

private:
  std::string writer_;
  std::string fence_;
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(postgres_leases, two_processes)

BOOST_AUTO_TEST_CASE(thread_in_use_is_refused_until_released) {
  auto held = take(*one);
  BOOST_TEST(is_refused(*two));
  BOOST_TEST(is_refused(*one));
  (void)take(*two, busy_policy::refuse, "other");
  auto waiting = ask(*two, busy_policy::wait);
  BOOST_TEST((waiting.wait_for(milliseconds{60}) == std::future_status::timeout));
  held.reset();
  auto got = waiting.get();
  BOOST_REQUIRE(got.has_value());
  BOOST_TEST((*got)->is_held());
  BOOST_TEST(is_refused(*one));
}

BOOST_AUTO_TEST_CASE(lease_is_renewed_while_it_is_held) {
  const auto held = take(*one);
  std::this_thread::sleep_for(quick_options().lease_time * 2);
  BOOST_TEST(held->is_held());
  BOOST_TEST(is_refused(*two));
}

BOOST_AUTO_TEST_CASE(run_whose_thread_was_taken_over_cannot_write) {
  auto m = contract::maker{contract::usual_layout()};
  const auto held = take(*one);
  const auto first = m.put(*one, 1, nullptr, {contract::set_n(1)});
  contract::settle(*one);
  const auto other = take(*two, busy_policy::take_over);
  // The newest checkpoint is still the one that the first run knows: only the holder differs.
  (void)m.put(*one, 2, first, {contract::set_n(2)});
  contract::settle(*one);
  BOOST_CHECK_EXCEPTION(one->check(contract::key), ss::checkpoint_error, [](const auto& e) {
    return contract::has_code(e, ss::checkpoint_errc::conflict) &&
           std::string{e.what()}.find("taken over") != std::string::npos;
  });
  BOOST_TEST(two->head(contract::key) == contract::id_of(1));
  BOOST_TEST(becomes_true([&] { return !held->is_held(); }));
  BOOST_TEST(other->is_held());
  (void)m.put(*two, 2, two->load(contract::key, "", contract::usual_layout())->checkpoint,
              {contract::set_n(3)});
  contract::settle(*two);
  two->check(contract::key);
}

/// A killed process may leave a statement behind that still runs when its lease has ended.
BOOST_FIXTURE_TEST_CASE(taking_over_waits_for_statements_of_previous_holder, killed_holder) {
  take_thread(1);
  run(killed, "begin");
  BOOST_TEST(save(1) == "[]");
  std::this_thread::sleep_for(milliseconds{20}); // the lease ends
  check_that_take_over_waits();
  run(killed, "commit");
  BOOST_TEST(number(next, take_over) == 1);
  BOOST_TEST(save(2) == "[[1, 1, \"\"]]");
  BOOST_TEST(number(next, "select count(*) from superstep_threads.effects") == 1);
}

/// A request for several threads may wait, and the lease of one of them may end meanwhile.
BOOST_FIXTURE_TEST_CASE(lease_that_ends_during_request_is_not_taken, killed_holder) {
  BOOST_TEST(
      number(next, "select count(*) from superstep_threads.take_leases(6, '{s}', 1, false)") == 1);
  take_thread(300);
  run(killed, "begin");
  BOOST_TEST(save(1) == "[]"); // while the lease is valid
  auto other = shared_server().connect();
  run(other, "begin; select pg_advisory_xact_lock_shared(6)"); // as save() does
  auto taken = number_async(
      next, "select count(*) from superstep_threads.take_leases(8, '{s,t}', 60000, false)");
  BOOST_TEST(wait_for_lock_waits(other, 1));
  BOOST_TEST(becomes_true([&] {
    return number(other, "select count(*) from superstep_threads.leases where thread = 't' and "
                         "until < clock_timestamp()") == 1;
  }));
  run(other, "commit");
  BOOST_TEST(taken.get().value() == 1); // thread 's'
  check_that_take_over_waits();
  run(killed, "commit");
  BOOST_TEST(number(next, take_over) == 1);
}

/// The thread gets a second holder while a process waits to take it over from the first one.
BOOST_FIXTURE_TEST_CASE(taking_over_waits_for_statements_of_each_holder, killed_holder) {
  take_thread(60'000);
  run(killed, "begin; select pg_advisory_xact_lock_shared(7)");
  auto second = shared_server().connect();
  const auto take = [](ss::detail::pg_connection& by, int holder) {
    return number_async(by, "select count(*) from superstep_threads.take_leases(" +
                                std::to_string(holder) + ", '{t}', 60000, true)");
  };
  auto other = shared_server().connect();
  run(other, "begin; select pg_advisory_xact_lock_shared(9)"); // a save() of the second holder
  auto by_second = take(second, 9);
  BOOST_TEST(wait_for_lock_waits(other, 1));
  auto by_third = take(next, 8);
  BOOST_TEST(wait_for_lock_waits(other, 2));
  run(killed, "commit");
  BOOST_TEST(by_second.get().value() == 1);
  BOOST_TEST(wait_for_lock_waits(other, 1));
  BOOST_TEST((by_third.wait_for(milliseconds{50}) == std::future_status::timeout));
  run(other, "commit");
  BOOST_TEST(by_third.get().value() == 1);
  BOOST_TEST(number(next, "select holder from superstep_threads.leases where thread = 't'") == 8);
}

BOOST_AUTO_TEST_CASE(effect_of_run_that_was_taken_over_is_refused) {
  const auto held = take(*one);
  const auto other = take(*two, busy_policy::take_over);
  one->put_effect("t", "mail", ss::effect_record{});
  contract::settle(*one);
  BOOST_CHECK_THROW(one->check(contract::key), ss::checkpoint_error);
  BOOST_TEST(!two->find_effect("t", "mail"));
}

BOOST_AUTO_TEST_CASE(effect_of_run_whose_thread_was_written_is_refused) {
  one = ss::postgres_checkpointer(shared_server().url()); // a renewal would get the lease back
  auto m = contract::maker{contract::usual_layout()};
  const auto held = take(*one);
  const auto first = m.put(*one, 1, nullptr, {contract::set_n(1)});
  contract::settle(*one);
  {
    const auto other = take(*two, busy_policy::take_over);
    (void)m.put(*two, 2, two->load(contract::key, "", contract::usual_layout())->checkpoint,
                {contract::set_n(2)});
    contract::settle(*two);
  }
  BOOST_TEST(!is_refused(*two)); // the thread is free: no other run holds it
  one->put_effect("t", "mail", ss::effect_record{});
  contract::settle(*one);
  BOOST_CHECK_THROW(one->check(contract::key), ss::checkpoint_error);
  BOOST_TEST(!two->find_effect("t", "mail"));
}

BOOST_AUTO_TEST_CASE(thread_taken_over_is_kept_while_another_run_of_the_process_waits) {
  const auto elsewhere = take(*two);
  auto waiting = ask(*one, busy_policy::wait);
  BOOST_TEST((waiting.wait_for(milliseconds{60}) == std::future_status::timeout));
  const auto held = take(*one, busy_policy::take_over);
  std::this_thread::sleep_for(milliseconds{500}); // longer than the pause between two requests
  BOOST_TEST(held->is_held());
}

BOOST_AUTO_TEST_CASE(thread_of_killed_process_is_free_after_lease_time) {
  auto holder = process{{helper_program("postgres_driver"), "hold", shared_server().url(), "t"}};
  BOOST_TEST_REQUIRE(holder.read_line() == "held");
  BOOST_TEST(is_refused(*one));
  holder.send(SIGKILL);
  (void)holder.wait();
  BOOST_TEST(is_refused(*one));
  const auto got = ask(*one, busy_policy::wait).get();
  BOOST_TEST(got.has_value());
}

BOOST_AUTO_TEST_CASE(lease_lasts_until_writes_of_its_run_are_saved) {
  auto m = contract::maker{contract::usual_layout()};
  for (auto i = 1; i <= 30; ++i) {
    auto& s = i % 2 == 0 ? *one : *two;
    auto held = take(s, busy_policy::wait);
    const auto now = s.load(contract::key, "", contract::usual_layout());
    (void)m.put(s, i, now ? now->checkpoint : nullptr, {contract::set_n(i)});
    held.reset(); // the checkpoint may still be in the queue
  }
  for (auto* s : {one.get(), two.get()}) {
    contract::settle(*s);
    s->check(contract::key);
  }
  BOOST_TEST(two->list(contract::key, {}, contract::usual_layout()).size() == 30U);
}

BOOST_AUTO_TEST_CASE(rejected_thread_id_does_not_affect_other_threads) {
  auto long_id = std::string{}; // PostgreSQL cannot compress it
  for (auto i = 0U; i < 1'000; ++i)
    long_id += std::to_string(i * 2'654'435'761U);
  const auto held = take(*two); // a run of the same process waits for this thread meanwhile
  auto waiting = ask(*one, busy_policy::wait);
  auto good_runs = std::vector<future_lease>{};
  auto bad_runs = std::vector<future_lease>{};
  for (auto i = 0; i < 20; ++i) {
    const auto number = std::to_string(i);
    good_runs.push_back(ask(*one, busy_policy::wait, "t" + number));
    bad_runs.push_back(ask(*one, busy_policy::wait, long_id + number));
    bad_runs.push_back(ask(*one, busy_policy::wait, '\0' + number));
  }
  for (auto& run : good_runs) {
    const auto got = run.get();
    BOOST_TEST(got.has_value(), (got ? std::string{} : got.error().text));
  }
  for (auto& run : bad_runs) {
    const auto got = run.get();
    BOOST_TEST_REQUIRE(!got.has_value());
    BOOST_TEST(got.error().text.find("the database cannot store this id") != std::string::npos,
               got.error().text);
  }
  BOOST_TEST((waiting.wait_for(milliseconds{0}) == std::future_status::timeout));
}

BOOST_AUTO_TEST_CASE(waiting_run_fails_when_checkpointer_is_closed) {
  const auto held = take(*one);
  auto waiting = ask(*two, busy_policy::wait);
  two.reset();
  const auto got = waiting.get();
  BOOST_REQUIRE(!got.has_value());
  BOOST_TEST((got.error().code == make_error_code(ss::checkpoint_errc::in_use)));
}

BOOST_AUTO_TEST_CASE(eight_processes_on_twenty_threads_lose_no_update) {
  const auto* const wanted = std::getenv("SUPERSTEP_CONTENTION");
  const auto size = std::string{wanted != nullptr ? wanted : "8 20 15"};
  auto driver = process{{"/usr/bin/env", "SUPERSTEP_CONTENTION=" + size,
                         helper_program("contention_driver"), shared_server().url()}};
  const auto end = driver.wait();
  BOOST_TEST(end.exit_code == 0, end.err);
  BOOST_TEST_MESSAGE(end.out);
}

BOOST_AUTO_TEST_SUITE_END()
