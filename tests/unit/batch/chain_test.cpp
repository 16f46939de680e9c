// SPDX-License-Identifier: Apache-2.0
// Rows that are started by the threads that end rows: limits, stops, shortages and the rows that
// are read ahead.
#include "batch/row_table.hpp"
#include "job_fixture.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(chains)

namespace {

using namespace superstep;
using namespace superstep::testing;

/// Ends rows on threads of its own, in the order of their starts.
class chained_runner final : public row_runner {
public:
  explicit chained_runner(std::size_t threads) {
    for (auto i = std::size_t{0}; i < threads; ++i)
      threads_.emplace_back([this] { serve(); });
  }
  ~chained_runner() override {
    {
      const auto lock = std::scoped_lock{mutex_};
      is_ended_ = true;
    }
    changed_.notify_all();
    for (auto& one : threads_)
      one.join();
  }

  [[nodiscard]] bool can_chain() const noexcept override { return true; }
  std::unique_ptr<running_row> submit(row_request request, done_function done) override {
    const auto lock = std::scoped_lock{mutex_};
    ++starts[request.key];
    most = std::max(most, ++in_flight_);
    rows_.emplace_back(std::move(request), std::move(done));
    changed_.notify_one();
    return std::make_unique<no_handle>();
  }

  std::function<row_outcome(const row_request&)> answer = echo;
  // Read after the job has ended.
  std::map<std::string, int> starts;
  int most = 0; ///< largest number of rows in flight

private:
  void serve() {
    auto lock = std::unique_lock{mutex_};
    while (true) {
      changed_.wait(lock, [this] { return is_ended_ || !rows_.empty(); });
      if (rows_.empty())
        return;
      auto [request, done] = std::move(rows_.front());
      rows_.pop_front();
      --in_flight_;
      lock.unlock();
      done(answer(request));
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<row_request, done_function>> rows_;
  int in_flight_ = 0;
  bool is_ended_ = false;
  std::vector<std::thread> threads_;
};

/// Ends each row before submit() returns.
class immediate_runner final : public row_runner {
public:
  [[nodiscard]] bool can_chain() const noexcept override { return true; }
  std::unique_ptr<running_row> submit(row_request request, done_function done) override {
    depth_max = std::max(depth_max, ++depth_);
    done(echo(request));
    --depth_;
    return std::make_unique<no_handle>();
  }
  int depth_max = 0;

private:
  int depth_ = 0;
};

row_outcome short_of_memory() {
  auto out = row_outcome{};
  out.fault.emplace(row_fault{row_fault::kind::shortage, "no memory"});
  return out;
}

/// Counts the rows that the table starts.
class counting_starter final : public detail::row_starter {
public:
  [[nodiscard]] bool may_start(const detail::row_expenses& /*used*/) const override {
    return is_allowed;
  }
  void start(detail::started_row row) noexcept override {
    rows.push_back(row);
    keys += row->request.key;
    detail::row_table::attach(row, std::make_unique<no_handle>());
  }
  bool is_allowed = true;
  std::vector<detail::started_row> rows;
  std::string keys;
};

/// Reads a row ahead. Returns whether another one may be read before publish().
bool read_ahead(detail::row_table& table, const std::string& key, std::uint64_t bytes = 10) {
  auto request = row_request{};
  request.key = key;
  auto origin = detail::row_origin{};
  origin.key = key;
  origin.size = bytes;
  return table.read_ahead(std::move(request), std::move(origin));
}

/// Adds a row that waits for its start.
void add_ready(detail::row_table& table, const std::string& key, std::uint64_t bytes = 10) {
  static_cast<void>(read_ahead(table, key, bytes));
  table.publish();
}

/// A handle that counts the cancellations of its row.
class counting_handle final : public running_row {
public:
  explicit counting_handle(int& cancelled) : cancelled_{cancelled} {}
  void cancel() noexcept override { ++cancelled_; }

private:
  int& cancelled_;
};

bool has_room(detail::row_table& table) {
  return table.wait_for_room(std::chrono::steady_clock::now()).is_any();
}

/// A table with one row in flight, `first`, and a row `b` that waits for its start.
struct chained_table {
  explicit chained_table(std::size_t ready_max = 4) : table{1, 10, ready_max} {
    table.enable_chains(starter);
    add_ready(table, "a");
    first = *table.take_ready();
    detail::row_table::attach(first, std::make_unique<no_handle>());
    add_ready(table, "b");
  }
  /// Ends a row on another thread, as the engine does.
  void finish(detail::started_row row, row_outcome outcome = {}) {
    std::thread{[&] { table.finish(row, std::move(outcome)); }}.join();
  }

  counting_starter starter;
  detail::row_table table;
  detail::started_row first;
};

} // namespace

BOOST_AUTO_TEST_CASE(end_of_row_starts_next_row) {
  auto t = chained_table{};
  t.finish(t.first);
  BOOST_TEST(t.starter.keys == "b");
  BOOST_TEST(t.table.in_flight() == 1U);
  BOOST_TEST(!t.table.has_ready());
}

BOOST_AUTO_TEST_CASE(end_of_row_writes_its_line) {
  auto t = chained_table{};
  auto request = row_request{};
  request.key = "a";
  request.messages.push_back(human_message("hi"));
  t.finish(t.first, echo(request));
  auto work = detail::row_table::work{};
  t.table.take(work, std::nullopt);
  BOOST_TEST_REQUIRE(t.table.taken().size() == 1U);
  const auto& row = t.table.taken().front().done;
  BOOST_TEST(row.origin.key == "a");
  BOOST_TEST(row.line.find("echo hi") != std::string::npos);
  BOOST_TEST(row.line.back() == '\n');
  BOOST_TEST(row.counts.total_tokens == 5);
  BOOST_TEST(row.counts.rows_unpriced == 1U);
}

BOOST_AUTO_TEST_CASE(row_that_ends_while_it_starts_starts_no_other) {
  auto t = chained_table{};
  t.finish(t.first);
  add_ready(t.table, "c");
  t.starter.is_allowed = false;
  t.finish(t.starter.rows.back());
  t.starter.is_allowed = true;
  const auto third = *t.table.take_ready(); // its handle is not attached yet
  add_ready(t.table, "d");
  t.table.finish(third, {});
  BOOST_TEST(t.starter.keys == "b");
  BOOST_TEST((*t.table.take_ready())->request.key == "d");
}

BOOST_AUTO_TEST_CASE(refused_start_leaves_row_to_feeding_thread) {
  auto t = chained_table{};
  t.starter.is_allowed = false;
  t.finish(t.first);
  BOOST_TEST(t.starter.keys.empty());
  BOOST_TEST((*t.table.take_ready())->request.key == "b");
}

BOOST_AUTO_TEST_CASE(fault_disables_chains_until_rows_are_taken) {
  auto t = chained_table{};
  t.finish(t.first, short_of_memory());
  BOOST_TEST(t.starter.keys.empty());
  t.table.enable_chains(t.starter); // the row that ended in a fault has not been taken
  const auto second = *t.table.take_ready();
  detail::row_table::attach(second, std::make_unique<no_handle>());
  add_ready(t.table, "c");
  t.finish(second);
  BOOST_TEST(t.starter.keys.empty());
  BOOST_TEST(t.table.take_returned().rows.size() == 1U);
  t.table.enable_chains(t.starter);
  const auto third = *t.table.take_ready();
  detail::row_table::attach(third, std::make_unique<no_handle>());
  add_ready(t.table, "d");
  t.finish(third);
  BOOST_TEST(t.starter.keys == "d");
}

BOOST_AUTO_TEST_CASE(rows_are_read_ahead_up_to_their_limit) {
  auto t = chained_table{4};
  for (const auto* key : {"c", "d"}) {
    BOOST_TEST(has_room(t.table));
    add_ready(t.table, key);
  }
  BOOST_TEST(has_room(t.table));
  add_ready(t.table, "e");
  BOOST_TEST(!has_room(t.table)); // b to e wait
  t.finish(t.first);              // starts b
  BOOST_TEST(!has_room(t.table));
  t.finish(t.starter.rows.back()); // starts c: half of the rows are left
  BOOST_TEST(has_room(t.table));
  t.table.end_ready();
  BOOST_TEST(!has_room(t.table));
}

BOOST_AUTO_TEST_CASE(rows_are_read_ahead_in_groups) {
  auto t = chained_table{4};
  BOOST_TEST(has_room(t.table)); // b waits, so three more may
  BOOST_TEST(read_ahead(t.table, "c"));
  BOOST_TEST(read_ahead(t.table, "d"));
  BOOST_TEST(!read_ahead(t.table, "e"));
  BOOST_TEST(!t.table.publish());
  t.finish(t.first);
  for (const auto* key : {"b", "bc", "bcd", "bcde"}) {
    BOOST_TEST(t.starter.keys == key);
    t.finish(t.starter.rows.back());
  }
}

BOOST_AUTO_TEST_CASE(large_lines_end_group_that_is_read_ahead) {
  constexpr auto large = std::uint64_t{5} << 20U;
  auto t = chained_table{4};
  BOOST_TEST(has_room(t.table));
  BOOST_TEST(!read_ahead(t.table, "c", large));
}

BOOST_AUTO_TEST_CASE(row_that_may_start_does_not_wait_for_further_rows) {
  auto t = chained_table{4};
  t.table.set_concurrency(3);
  BOOST_TEST(has_room(t.table));
  BOOST_TEST(!read_ahead(t.table, "c"));
  BOOST_TEST(t.table.publish());
}

BOOST_AUTO_TEST_CASE(late_handle_is_not_that_of_the_next_row) {
  auto t = chained_table{};
  t.starter.is_allowed = false;
  t.finish(t.first);
  const auto ended = *t.table.take_ready(); // its handle is late
  t.finish(ended);
  auto work = detail::row_table::work{};
  t.table.take(work, std::nullopt);
  t.table.take(work, std::chrono::steady_clock::now()); // the records are free again
  t.table.publish();
  t.table.set_concurrency(2);
  auto late = 0;
  auto own = 0;
  auto next = detail::started_row{};
  std::thread{[&] {
    add_ready(t.table, "c"); // in the record of the first row
    add_ready(t.table, "d");
    static_cast<void>(t.table.take_ready());
    next = *t.table.take_ready();
    detail::row_table::attach(next, std::make_unique<counting_handle>(own));
  }}.join();
  BOOST_TEST((next == ended)); // the record of the row that has ended
  detail::row_table::attach(ended, std::make_unique<counting_handle>(late));
  t.table.cancel_all();
  BOOST_TEST(late == 0);
  BOOST_TEST(own == 1);
}

BOOST_AUTO_TEST_CASE(large_lines_are_read_ahead_one_at_a_time) {
  constexpr auto large = std::uint64_t{5} << 20U;
  auto t = chained_table{};
  add_ready(t.table, "c", large);
  BOOST_TEST(!has_room(t.table));
}

BOOST_AUTO_TEST_CASE(chained_job_writes_same_rows) {
  constexpr auto rows = 2'000;
  auto plain = job{chat_lines(rows)};
  BOOST_TEST_REQUIRE(plain.run().has_value());
  auto chained = job{chat_lines(rows)};
  chained.options.concurrency = 16;
  auto runner = chained_runner{4};
  const auto summary = run_batch(chained.options, runner, chained.progress, chained.stop);
  BOOST_TEST_REQUIRE(summary.has_value());
  BOOST_TEST((chained.output() == plain.output()));
  BOOST_TEST(std::ranges::all_of(runner.starts, [](const auto& one) { return one.second == 1; }));
  BOOST_TEST(runner.most <= 16);
}

BOOST_AUTO_TEST_CASE(order_of_input_holds_with_chains) {
  auto chained = job{chat_lines(500)};
  chained.options.order = row_order::input;
  auto runner = chained_runner{4};
  const auto summary = run_batch(chained.options, runner, chained.progress, chained.stop);
  BOOST_TEST_REQUIRE(summary.has_value());
  auto in = std::istringstream{chained.file("out.jsonl")};
  auto number = 0;
  for (auto line = std::string{}; std::getline(in, line); ++number)
    BOOST_TEST(line.find("\"row-" + std::to_string(number) + '"') != std::string::npos);
  BOOST_TEST(number == 500);
}

BOOST_AUTO_TEST_CASE(rows_that_end_at_once_do_not_nest) {
  auto chained = job{chat_lines(5'000)};
  auto runner = immediate_runner{};
  const auto summary = run_batch(chained.options, runner, chained.progress, chained.stop);
  BOOST_TEST_REQUIRE(summary.has_value());
  BOOST_TEST(summary->ok + summary->failed == 5'000U);
  BOOST_TEST(runner.depth_max == 1);
}

BOOST_AUTO_TEST_CASE(shortage_in_chain_repeats_only_its_row) {
  auto chained = job{chat_lines(400)};
  auto runner = chained_runner{2};
  auto mutex = std::mutex{};
  auto failed = std::set<std::string>{};
  runner.answer = [&](const row_request& request) {
    const auto lock = std::scoped_lock{mutex};
    const auto is_due = request.key.ends_with("77") && failed.insert(request.key).second;
    return is_due ? short_of_memory() : echo(request);
  };
  const auto summary = run_batch(chained.options, runner, chained.progress, chained.stop);
  BOOST_TEST_REQUIRE(summary.has_value());
  BOOST_TEST(summary->ok + summary->failed == 400U);
  BOOST_TEST(failed.size() == 4U);
  for (const auto& [key, count] : runner.starts)
    BOOST_TEST(count == (failed.contains(key) ? 2 : 1), key);
}

BOOST_AUTO_TEST_CASE(budget_holds_with_chains) {
  auto chained = job{chat_lines(2'000)};
  chained.options.concurrency = 8;
  chained.options.rules.budget_tokens = 500; // 100 rows
  auto runner = chained_runner{2};
  const auto summary = run_batch(chained.options, runner, chained.progress, chained.stop);
  BOOST_TEST_REQUIRE(summary.has_value());
  BOOST_TEST((summary->code == exit_code::drained));
  BOOST_TEST(runner.starts.size() >= 100U);
  BOOST_TEST(runner.starts.size() <= 108U);
}

BOOST_AUTO_TEST_CASE(stop_request_ends_chains) {
  auto chained = job{chat_lines(2'000)};
  chained.options.concurrency = 8;
  auto runner = chained_runner{2};
  auto ended = std::atomic<int>{0};
  runner.answer = [&](const row_request& request) {
    if (++ended == 100)
      chained.stop.request();
    return echo(request);
  };
  const auto summary = run_batch(chained.options, runner, chained.progress, chained.stop);
  BOOST_TEST_REQUIRE(summary.has_value());
  BOOST_TEST((summary->code == exit_code::drained));
  BOOST_TEST(runner.starts.size() <= 108U);
  // The rows that were read ahead run when the job is resumed.
  auto rest = stop_request{};
  const auto resumed = run_batch(chained.options, runner, chained.progress, rest);
  BOOST_TEST_REQUIRE(resumed.has_value());
  BOOST_TEST(resumed->ok + resumed->failed == 2'000U);
  BOOST_TEST(std::ranges::all_of(runner.starts, [](const auto& one) { return one.second == 1; }));
}

BOOST_AUTO_TEST_SUITE_END()
