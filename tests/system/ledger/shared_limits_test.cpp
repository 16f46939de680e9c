// SPDX-License-Identifier: Apache-2.0
// Limits per minute that several processes share, with a PostgreSQL server.
#include "postgres/limit_functions.hpp"
#include "postgres/limit_share.hpp"
#include "postgres_server.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <iostream>
#include <sstream>
#include <thread>

namespace {

using namespace superstep;
using namespace superstep::testing;
using namespace std::chrono_literals;
using std::chrono::steady_clock;
using time_point = steady_clock::time_point;

// A grant must be used within a sixtieth of the minute, so that a busy machine loses grants of a
// short minute. The test that measures how much is used has a longer one.
struct minute {
  std::chrono::milliseconds length;
  std::int64_t requests;
};
constexpr auto short_minute = minute{6'000ms, 1'200};
constexpr auto long_minute = minute{20'000ms, 4'000};

const postgres_server& the_server() {
  static const auto server = postgres_server{};
  return server;
}

/// A process that sends requests as fast as the shared limits allow.
class busy_sender {
public:
  busy_sender(const std::string& url, const std::string& key, const minute& of)
      : share_{detail::open_shared_limits({.url = url,
                                           .key = key,
                                           .requests_per_minute = of.requests,
                                           .tokens_per_minute = of.requests * 10,
                                           .window = of.length})
                   .value()},
        thread_{[this](const std::stop_token& stop) { send(stop); }} {}

  /// The number of requests so far. Thread-safe.
  [[nodiscard]] std::int64_t count() const noexcept { return count_; }
  /// Stops sending, and returns the times of all requests.
  std::vector<time_point> end() {
    thread_.request_stop();
    thread_.join();
    share_.reset();
    return sent_;
  }

private:
  void send(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      const auto now = steady_clock::now();
      if (share_->take(5, now) <= now) {
        sent_.push_back(now);
        ++count_;
      } else {
        std::this_thread::sleep_for(1ms);
      }
    }
  }

  std::shared_ptr<limit_source> share_;
  std::vector<time_point> sent_;
  std::atomic<std::int64_t> count_{0};
  std::jthread thread_;
};

/// Returns the largest number of times within one minute.
std::int64_t most_in(const minute& of, std::vector<time_point> times) {
  std::ranges::sort(times);
  auto most = std::int64_t{0};
  auto first = times.begin();
  for (auto at = times.begin(); at != times.end(); ++at) {
    while (*at - *first > of.length)
      ++first;
    most = std::max<std::int64_t>(most, at - first + 1);
  }
  return most;
}

/// Returns the number of times from `from` on, before `to`.
double between(const std::vector<time_point>& times, time_point from, time_point to) {
  return static_cast<double>(
      std::ranges::count_if(times, [=](time_point each) { return each >= from && each < to; }));
}

} // namespace

BOOST_AUTO_TEST_CASE(processes_share_limit_per_minute_fairly) {
  const auto url = the_server().url();
  auto senders = std::vector<std::unique_ptr<busy_sender>>{};
  for (auto i = 0; i < 3; ++i)
    senders.push_back(std::make_unique<busy_sender>(url, "fair", long_minute));
  std::this_thread::sleep_for(2s);
  const auto begin = steady_clock::now();
  const auto counts_at_begin = std::array{senders[1]->count(), senders[2]->count()};
  std::this_thread::sleep_for(long_minute.length);
  const auto middle = steady_clock::now();
  const auto rate_before = std::array{senders[1]->count() - counts_at_begin[0],
                                      senders[2]->count() - counts_at_begin[1]};
  auto times = std::vector<std::vector<time_point>>{};
  times.push_back(senders[0]->end());
  std::this_thread::sleep_for(1s);
  // The others get the share of the one that has ended. On a busy machine they do not always find
  // the time to use it.
  auto is_faster = std::array{false, false};
  for (auto i = 0; i < 8 && !(is_faster[0] && is_faster[1]); ++i) {
    const auto counts = std::array{senders[1]->count(), senders[2]->count()};
    std::this_thread::sleep_for(5s);
    for (auto k = std::size_t{0}; k < 2; ++k) {
      const auto now = static_cast<double>(senders[k + 1]->count() - counts[k]) / 5;
      is_faster[k] = is_faster[k] || now > 1.1 * static_cast<double>(rate_before[k]) / 20;
    }
  }
  BOOST_TEST(is_faster[0]);
  BOOST_TEST(is_faster[1]);
  times.push_back(senders[1]->end());
  times.push_back(senders[2]->end());

  auto all = std::vector<time_point>{};
  for (const auto& each : times)
    all.insert(all.end(), each.begin(), each.end());
  BOOST_TEST(most_in(long_minute, all) <= long_minute.requests);
  const auto total = between(all, begin, middle);
  const auto used = total / static_cast<double>(long_minute.requests);
  BOOST_TEST_MESSAGE("used of the limit: " << used);
  BOOST_TEST(used > 0.4); // 0.96 on an idle machine, less if the senders wait for a core
  for (const auto& each : times)
    BOOST_TEST(between(each, begin, middle) * 3 / total > 0.5); // less if a sender waits for a core
}

BOOST_AUTO_TEST_CASE(limit_holds_over_crash_of_server) {
  auto server = postgres_server{};
  auto first = busy_sender{server.url(), "crash", short_minute};
  auto second = busy_sender{server.url(), "crash", short_minute};
  for (auto round = 0; round < 3; ++round) {
    std::this_thread::sleep_for(1'500ms);
    server.crash(round == 0 ? SIGKILL : SIGQUIT);
    server.start();
  }
  std::this_thread::sleep_for(3s);
  auto all = first.end();
  const auto more = second.end();
  all.insert(all.end(), more.begin(), more.end());
  BOOST_TEST(most_in(short_minute, all) <= short_minute.requests);
  BOOST_TEST(all.size() > 100U);
  BOOST_TEST((all.back() > steady_clock::now() - 1s)); // both have connected again
}

BOOST_AUTO_TEST_CASE(grants_that_arrive_too_late_are_reported) {
  auto connection = the_server().connect();
  BOOST_TEST_REQUIRE(detail::prepare_limits(connection).has_value());
  const auto is_slow = connection.run_script(R"sql(
alter function superstep.grant_limits rename to fast_grants;
create function superstep.grant_limits(text, text, bigint, bigint[], bigint[], bigint[], bigint[])
returns bigint[] language sql
begin atomic
  select superstep.fast_grants($1, $2, $3, $4, $5, $6, $7) from pg_sleep(0.3);
end;
comment on function superstep.grant_limits is 'format 2')sql");
  BOOST_TEST_REQUIRE(is_slow.has_value(), (is_slow ? "" : is_slow.error().text));
  auto written = std::ostringstream{};
  auto* const console = std::cerr.rdbuf(written.rdbuf());
  auto sender = busy_sender{the_server().url(), "late", short_minute}; // a grant is valid for 0.1 s
  std::this_thread::sleep_for(4'500ms);
  static_cast<void>(sender.end());
  std::cerr.rdbuf(console);
  BOOST_TEST(written.str().find(" is too slow: a grant took 0.") != std::string::npos,
             written.str());
  BOOST_TEST(connection
                 .run_script("drop function superstep.grant_limits; "
                             "alter function superstep.fast_grants rename to grant_limits")
                 .has_value());
}

BOOST_AUTO_TEST_CASE(limits_of_earlier_version_are_replaced) {
  auto server = postgres_server{};
  auto connection = server.connect();
  const auto earlier = connection.run_script(R"sql(
create schema superstep;
create table superstep.limits (key text primary key, at timestamptz not null, level float8[]);
create table superstep.limit_members (key text, member text, primary key (key, member));
create function superstep.grant_limits(
  p_key text, p_member text, p_window_ms bigint, p_quota bigint[], p_want bigint[],
  p_need bigint[], p_back bigint[])
returns bigint[] language sql as $$ select '{0,0}'::bigint[] $$)sql");
  BOOST_TEST_REQUIRE(earlier.has_value(), (earlier ? "" : earlier.error().text));
  auto sender = busy_sender{server.url(), "key", short_minute};
  std::this_thread::sleep_for(1s);
  BOOST_TEST(!sender.end().empty());
}

BOOST_AUTO_TEST_CASE(agent_files_share_limits) {
  const auto job = cli_job{};
  auto lines = std::string{};
  for (auto i = 0; i < 4; ++i)
    lines += "{\"id\":\"row-" + std::to_string(i) +
             "\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}\n";
  job.write("in.jsonl", lines);
  job.write("model.yaml", "default: {text: hello}\n");
  const auto model = std::string{"model: {provider: scripted, path: model.yaml}\n"};
  job.write("agent.yaml", model + "limits: {rpm: 60, share: '" + the_server().url() + "'}\n");
  const auto begin = steady_clock::now();
  auto processes = std::vector<std::unique_ptr<process>>{};
  for (const auto* name : {"a.jsonl", "b.jsonl"})
    processes.push_back(std::make_unique<process>(
        std::vector<std::string>{superstep_program(), "run", job.agent, "--input", job.input,
                                 "--output", job.folder / name, "--progress", "none"}));
  for (auto& each : processes) {
    const auto end = each->wait();
    BOOST_TEST(end.exit_code == 0, end.err);
  }
  // Eight requests at less than one per second; the first may be granted at once.
  BOOST_TEST((steady_clock::now() - begin > 6s));

  job.write("agent.yaml", model + "limits: {share: 'postgresql:///x'}\n");
  const auto nothing = job.run({});
  BOOST_TEST(nothing.exit_code == 1);
  BOOST_TEST(nothing.err.find("limits.share: needs limits.rpm or limits.tpm") != std::string::npos,
             nothing.err);
  job.write("agent.yaml", model + "limits: {rpm: 60, share: 'postgresql:///x?host=/nowhere'}\n");
  const auto away = job.run({});
  BOOST_TEST(away.exit_code == 1);
  BOOST_TEST(away.err.find("limits.share: the database") != std::string::npos, away.err);
  the_server().run("create role outsider login");
  job.write("agent.yaml",
            model + "limits: {rpm: 60, share: '" + the_server().url("outsider") + "'}\n");
  const auto refused = job.run({});
  BOOST_TEST(refused.exit_code == 1);
  BOOST_TEST(refused.err.find("may not execute superstep.grant_limits") != std::string::npos,
             refused.err);
  job.write("agent.yaml", model + "limits: {rpm: 60, share: 'postgresql://me:secret@host/x'}\n");
  const auto password = job.run({});
  BOOST_TEST(password.err.find("limits.share") != std::string::npos, password.err);
  BOOST_TEST(password.err.find("secret") == std::string::npos, password.err);
}
