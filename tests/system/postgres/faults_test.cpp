// SPDX-License-Identifier: Apache-2.0
// Interrupts a process at its commits, in every phase of a commit: the connection is cut, the
// process is killed, or the server crashes. The threads must end with the same history as without
// an interruption.
//
// SUPERSTEP_KILL_POINTS (30) sets the number of interruptions.
#include "checkpoint/checkpointer_contract.hpp"
#include "system/postgres/postgres_place.hpp"
#include "system/postgres/statement_proxy.hpp"

#include <superstep/runtime/run_config.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <future>
#include <string>
#include <vector>

namespace {

namespace ss = superstep;
namespace contract = checkpointer_contract;
using namespace ss::testing;
using enum statement_phase;

constexpr auto phases = std::array{before, partly, running, ended, answer};
constexpr auto durabilities =
    std::array{ss::durability::sync, ss::durability::async, ss::durability::exit};

std::size_t points_wanted() {
  const auto* wanted = std::getenv("SUPERSTEP_KILL_POINTS");
  return wanted != nullptr ? std::stoull(wanted) : 30;
}

/// Runs threads with a common prefix of their ids in other processes.
class interrupted_threads {
public:
  interrupted_threads() { clear_database(); }

  /// Runs threads without an interruption; returns the number of their commits.
  std::size_t learn(ss::durability when) {
    prefix_ = "whole-" + std::to_string(static_cast<int>(when)) + "-";
    proxy_.plan({});
    BOOST_TEST_REQUIRE(run(when).exit_code == 0);
    expected_ = show();
    BOOST_TEST_REQUIRE(!expected_.empty());
    return proxy_.count();
  }

  /// Cuts the connection at a commit. The process must end well by itself.
  void cut(ss::durability when, statement_phase phase, std::size_t at) {
    start_point();
    proxy_.plan({at, phase, {}});
    const auto end = run(when);
    BOOST_TEST(end.exit_code == 0, end.err);
    BOOST_TEST(show() == expected_, where(when, phase, at));
  }

  /// Kills the process at a commit. Another process must be able to resume.
  void kill(ss::durability when, statement_phase phase, std::size_t at) {
    start_point();
    proxy_.plan({at, phase, [](pid_t client) { ::kill(client, SIGKILL); }});
    const auto end = run(when);
    // The number of commits depends on time, so the process may have ended before.
    BOOST_TEST((end.signal == SIGKILL || (end.exit_code == 0 && proxy_.count() < at)),
               where(when, phase, at));
    proxy_.plan({});
    const auto resumed = run(when);
    BOOST_TEST(resumed.exit_code == 0, resumed.err);
    BOOST_TEST(show() == expected_, where(when, phase, at));
  }

  /// Crashes the server at a commit, and starts it again. The process must end well by itself.
  void crash_server(int signal, statement_phase phase, std::size_t at) {
    start_point();
    auto reached = std::promise<void>{};
    auto is_down = std::promise<void>{};
    proxy_.plan({at, phase, [&](pid_t) {
                   reached.set_value();
                   is_down.get_future().wait();
                 }});
    auto worker = process{command(ss::durability::sync)};
    auto is_reached = reached.get_future();
    while (is_reached.wait_for(std::chrono::milliseconds{10}) != std::future_status::ready)
      if (worker.wait_for(std::chrono::milliseconds{0}))
        break; // it made fewer commits than the uninterrupted run
    shared_server().crash(signal);
    is_down.set_value();
    shared_server().start();
    const auto end = worker.wait();
    BOOST_TEST(end.exit_code == 0, end.err);
    BOOST_TEST(show() == expected_, where(ss::durability::sync, phase, at));
  }

private:
  static std::string where(ss::durability when, statement_phase phase, std::size_t at) {
    return "durability " + std::to_string(static_cast<int>(when)) + ", phase " +
           std::to_string(static_cast<int>(phase)) + " of commit " + std::to_string(at);
  }

  void start_point() { prefix_ = "p" + std::to_string(++points_) + "-"; }

  [[nodiscard]] std::vector<std::string> command(ss::durability when) const {
    return {helper_program("postgres_driver"), "work", proxy_.url(), prefix_,
            std::to_string(static_cast<int>(when))};
  }

  ended_process run(ss::durability when) { return process{command(when)}.wait(); }

  [[nodiscard]] std::string show() const {
    auto driver =
        process{{helper_program("postgres_driver"), "show", shared_server().url(), prefix_}};
    return driver.wait().out;
  }

  statement_proxy proxy_{shared_server().folder(), "superstep_threads.save("};
  std::string prefix_;
  std::string expected_;
  int points_ = 0;
};

} // namespace

BOOST_AUTO_TEST_SUITE(postgres_faults)

BOOST_AUTO_TEST_CASE(cut_connections_and_killed_processes_lose_and_double_nothing) {
  auto threads = interrupted_threads{};
  const auto each =
      std::max(points_wanted() / (durabilities.size() * phases.size()), std::size_t{1});
  for (const auto when : durabilities) {
    const auto commits = threads.learn(when);
    BOOST_TEST_REQUIRE(commits > 0U);
    for (auto p = std::size_t{0}; p < phases.size(); ++p)
      for (auto i = std::size_t{0}; i < each; ++i) {
        // Different commits for each phase, spread over all.
        const auto at = 1 + (i * phases.size() + p) * commits / (each * phases.size());
        if ((i + p) % 2 == 0)
          threads.cut(when, phases[p], at);
        else
          threads.kill(when, phases[p], at);
      }
  }
}

BOOST_AUTO_TEST_CASE(crashed_server_loses_and_doubles_nothing) {
  auto threads = interrupted_threads{};
  const auto commits = threads.learn(ss::durability::sync);
  const auto crashes = std::max(points_wanted() / 15, std::size_t{2});
  for (auto i = std::size_t{0}; i < crashes; ++i)
    threads.crash_server(i % 2 == 0 ? SIGQUIT : SIGKILL, phases[i % phases.size()],
                         1 + i * commits / crashes);
}

/// An effect record and the checkpoint that deletes it are written once, even if the answer to each
/// of their commits is lost.
BOOST_AUTO_TEST_CASE(lost_answers_of_effect_records_are_asked_for) {
  auto proxy = statement_proxy{shared_server().folder(), "superstep_threads.save("};
  auto m = contract::maker{contract::usual_layout()};
  for (const auto phase : phases) {
    clear_database();
    const auto fresh = ss::postgres_checkpointer(proxy.url(), quick_options());
    proxy.plan({1, phase, {}});
    fresh->put_effect("t", "mail", ss::effect_record{});
    BOOST_TEST((fresh->find_effect("t", "mail") == ss::effect_record{}));
    proxy.plan({1, phase, {}});
    fresh->put_effect("t", "mail", ss::effect_record{true, "sent"});
    BOOST_TEST((fresh->find_effect("t", "mail") == ss::effect_record{true, "sent"}));
    proxy.plan({1, phase, {}});
    m.now = true;
    (void)m.put(*fresh, 1, nullptr, {contract::set_n(1)});
    contract::settle(*fresh);
    fresh->check(contract::key);
    BOOST_TEST(!fresh->find_effect("t", "mail"));
    BOOST_TEST(fresh->list(contract::key, {}, contract::usual_layout()).size() == 1U);
  }
}

/// A host that accepts connections and never answers does not prevent the use of the next one.
BOOST_AUTO_TEST_CASE(host_without_answers_is_left_for_the_next_one) {
  auto io = boost::asio::io_context{};
  const auto silent =
      boost::asio::ip::tcp::acceptor{io, {boost::asio::ip::make_address("127.0.0.1"), 0}};
  const auto url = "postgresql:///postgres?host=127.0.0.1," + shared_server().folder() +
                   "&port=" + std::to_string(silent.local_endpoint().port()) +
                   ",5432&user=postgres&connect_timeout=2";
  const auto address = ss::detail::check_address(url, false);
  BOOST_TEST_REQUIRE(address.has_value());
  auto connection = ss::detail::pg_connection{*address};
  const auto rows = connection.run("select 7");
  BOOST_TEST_REQUIRE(rows.has_value(), (rows ? std::string{} : rows.error().text));
  BOOST_TEST(rows->number(0, 0) == 7);
}

/// While the server is away, runs wait; after the time they fail with an error that names the
/// remedy.
BOOST_AUTO_TEST_CASE(write_fails_if_server_stays_away) {
  clear_database();
  auto server = postgres_server{};
  auto options = quick_options();
  options.reconnect_timeout = std::chrono::milliseconds{300};
  const auto s = ss::postgres_checkpointer(server.url(), options);
  auto m = contract::maker{contract::usual_layout()};
  const auto first = m.put(*s, 1, nullptr, {contract::set_n(1)});
  contract::settle(*s);
  server.crash(SIGQUIT);
  (void)m.put(*s, 2, first, {contract::set_n(2)});
  contract::settle(*s);
  BOOST_CHECK_EXCEPTION(s->check(contract::key), ss::checkpoint_error, [](const auto& e) {
    return contract::has_code(e, ss::checkpoint_errc::failed) &&
           std::string{e.what()}.find("cannot be reached") != std::string::npos;
  });
  server.start();
  // The next run starts from what the database has.
  const auto back = s->load(contract::key, "", contract::usual_layout());
  BOOST_REQUIRE(back);
  BOOST_TEST(contract::n_of(back->checkpoint) == 1);
  (void)m.put(*s, 2, back->checkpoint, {contract::set_n(3)});
  contract::settle(*s);
  s->check(contract::key);
}

BOOST_AUTO_TEST_SUITE_END()
