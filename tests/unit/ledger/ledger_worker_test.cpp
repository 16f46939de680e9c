// SPDX-License-Identifier: Apache-2.0
// The state machine of a worker, statement by statement: leases, commits, splits, lost connections.
#include "ledger/ledger_worker.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <numeric>
#include <vector>

namespace {

using namespace superstep::detail;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// A worker and its clock.
struct fixture {
  ledger_worker_options options{};
  ledger_worker worker{options};
  ledger_time now = seconds{1'000};

  template <class Action>
  Action expect() {
    auto action = worker.next(now);
    BOOST_TEST_REQUIRE(std::holds_alternative<Action>(action), "action " << action.index());
    return std::get<Action>(std::move(action));
  }

  void connect(const std::vector<held_chunk>& held = {}) {
    static_cast<void>(expect<resolve_action>());
    worker.resolved({shared_job_state::open, held}, now);
  }

  /// Leases one chunk, whose rows are all left.
  void lease(leased_chunk chunk) {
    static_cast<void>(expect<lease_action>());
    worker.leased({shared_job_state::open, 1, {chunk}}, now);
    static_cast<void>(expect<read_action>());
    auto rows = std::vector<std::uint64_t>(chunk.bound - chunk.first);
    std::iota(rows.begin(), rows.end(), chunk.first);
    worker.read(rows, now);
  }

  /// Answers the lease that follows with nothing.
  void lease_nothing(shared_job_state job = shared_job_state::open) {
    static_cast<void>(expect<lease_action>());
    worker.leased({job, 1, {}}, now);
  }

  void end_rows(std::uint64_t from, std::uint64_t to) {
    for (auto row = from; row < to; ++row)
      worker.ended(row);
  }

  void take_rows(std::uint64_t count) {
    for (auto i = std::uint64_t{0}; i < count; ++i)
      BOOST_TEST_REQUIRE(worker.take(now).has_value());
  }

  commit_action commit(part_answer::verdict what = part_answer::verdict::stored,
                       std::uint64_t bound = 4) {
    auto action = expect<commit_action>();
    worker.committed({shared_job_state::open, {{what, bound}}}, now);
    return action;
  }

  std::size_t stored() {
    auto count = std::size_t{0};
    for (const auto& row : worker.take_settled())
      count += row.is_stored ? 1U : 0U;
    return count;
  }
};

constexpr auto chunk = leased_chunk{0, 4, 1};

} // namespace

BOOST_FIXTURE_TEST_CASE(worker_resolves_before_first_lease, fixture) {
  connect();
  const auto lease = expect<lease_action>();
  BOOST_TEST(lease.count == 1U);
  BOOST_TEST(lease.may_split);
}

BOOST_FIXTURE_TEST_CASE(worker_leases_one_chunk_ahead_without_splitting, fixture) {
  connect();
  this->lease(chunk);
  BOOST_TEST(!expect<lease_action>().may_split);
}

/// A commit takes half a second, so the next one comes after another second, in which as many rows
/// start as in a second before: a third of 100 rows.
BOOST_FIXTURE_TEST_CASE(commit_keeps_rows_that_start_before_next_one, fixture) {
  const auto commit_slowly = [this] {
    const auto action = expect<commit_action>();
    now += milliseconds{500};
    worker.committed({shared_job_state::open, {{part_answer::verdict::stored, 256}}}, now);
    return action.parts.front().next;
  };
  connect();
  this->lease({0, 256, 1});
  take_rows(100);
  end_rows(0, 100);
  BOOST_TEST(commit_slowly() == 100U); // the worker has not measured its rate
  now += milliseconds{2'500};
  take_rows(100);
  end_rows(100, 200);
  BOOST_TEST(commit_slowly() == 200U);
  now += seconds{1};
  take_rows(10);
  end_rows(200, 210);
  BOOST_TEST(commit_slowly() == 243U);
}

/// The worker stores 0.8 rows per second, so it holds 24 rows, which are 6 chunks.
BOOST_FIXTURE_TEST_CASE(worker_leases_several_chunks_when_half_have_started, fixture) {
  const auto end_chunk = [this](std::uint64_t first) {
    take_rows(4);
    end_rows(first, first + 4);
    auto answer = commit_answer{};
    for (const auto& part : expect<commit_action>().parts)
      answer.parts.push_back({part_answer::verdict::stored, part.first + 4});
    worker.committed(answer, now);
  };
  connect();
  this->lease(chunk);
  this->lease({4, 8, 1});
  end_chunk(0);
  this->lease({8, 12, 1});
  now += seconds{5};
  end_chunk(4);
  BOOST_TEST(expect<lease_action>().count == 5U);
  auto answer = lease_answer{};
  for (auto first = std::uint64_t{12}; first < 32; first += 4)
    answer.chunks.push_back({first, first + 4, 1});
  worker.leased(answer, now);
  static_cast<void>(expect<read_action>());
  auto rows = std::vector<std::uint64_t>(20);
  std::iota(rows.begin(), rows.end(), 12U);
  worker.read(rows, now);
  take_rows(11);
  static_cast<void>(expect<beat_action>());
  worker.beaten({}, now);
  static_cast<void>(expect<pause_action>());
  take_rows(1);
  BOOST_TEST(expect<lease_action>().count == 3U);
}

BOOST_FIXTURE_TEST_CASE(worker_leases_nothing_ahead_if_memory_is_short, fixture) {
  connect();
  this->lease(chunk);
  worker.allow_ahead(false);
  static_cast<void>(expect<pause_action>());
}

BOOST_FIXTURE_TEST_CASE(worker_commits_last_rows_at_once, fixture) {
  connect();
  this->lease(chunk);
  lease_nothing();
  take_rows(4);
  BOOST_TEST(!worker.take(now).has_value());
  end_rows(0, 4);
  BOOST_TEST(commit().rows.front().size() == 4U);
  BOOST_TEST(stored() == 4U);
  BOOST_TEST(worker.rows().unsettled() == 0U);
}

BOOST_FIXTURE_TEST_CASE(worker_waits_between_two_commits, fixture) {
  connect();
  this->lease(chunk);
  lease_nothing();
  take_rows(3);
  end_rows(0, 1);
  const auto first = expect<commit_action>();
  now += milliseconds{10};
  worker.committed({shared_job_state::open, {{part_answer::verdict::stored, 4}}}, now);
  end_rows(1, 2);
  const auto pause = expect<pause_action>();
  BOOST_TEST((pause.until - now == worker.commit_interval()));
  now = pause.until;
  BOOST_TEST(expect<commit_action>().parts.front().next == 3U);
}

BOOST_FIXTURE_TEST_CASE(worker_commits_at_once_if_driver_waits, fixture) {
  connect();
  this->lease(chunk);
  lease_nothing();
  take_rows(3);
  end_rows(0, 1);
  static_cast<void>(expect<commit_action>());
  end_rows(1, 2); // while the statement runs
  worker.await_commit();
  now += milliseconds{10};
  worker.committed({shared_job_state::open, {{part_answer::verdict::stored, 4}}}, now);
  BOOST_TEST(commit().rows.front().size() == 1U);
  end_rows(2, 3);
  static_cast<void>(expect<pause_action>());
}

BOOST_FIXTURE_TEST_CASE(worker_commits_all_rows_for_which_driver_waits, fixture) {
  options.rows_max = 2;
  worker = ledger_worker{options};
  connect();
  this->lease(chunk);
  lease_nothing();
  take_rows(4);
  end_rows(0, 3);
  worker.await_commit();
  BOOST_TEST(commit().rows.front().size() == 2U);
  BOOST_TEST(commit().rows.front().size() == 1U); // without a pause
  BOOST_TEST(stored() == 3U);
}

BOOST_FIXTURE_TEST_CASE(commit_interval_grows_with_members_and_latency, fixture) {
  connect();
  this->lease(chunk);
  static_cast<void>(expect<lease_action>());
  worker.leased({shared_job_state::open, 100, {}}, now);
  take_rows(1);
  end_rows(0, 1);
  static_cast<void>(expect<commit_action>());
  now += milliseconds{10};
  worker.committed({shared_job_state::open, {{part_answer::verdict::stored, 4}}}, now);
  BOOST_TEST((worker.commit_interval() == milliseconds{2'000}));
}

BOOST_FIXTURE_TEST_CASE(worker_renews_lease_while_rows_run, fixture) {
  connect();
  this->lease(chunk);
  lease_nothing();
  take_rows(4);
  now += options.lease / 2;
  const auto renewal = commit();
  BOOST_TEST(renewal.rows.front().empty());
  BOOST_TEST(worker.rows().running() == 4U);
}

BOOST_FIXTURE_TEST_CASE(worker_starts_no_row_after_end_of_lease, fixture) {
  connect();
  this->lease(chunk);
  now += options.lease;
  BOOST_TEST(!worker.has_row(now));
  BOOST_TEST(!worker.take(now).has_value());
}

BOOST_FIXTURE_TEST_CASE(rows_of_lost_chunk_are_refused, fixture) {
  connect();
  this->lease(chunk);
  lease_nothing();
  take_rows(4);
  end_rows(0, 2);
  static_cast<void>(commit(part_answer::verdict::lost, 0));
  connect(); // without the chunk
  end_rows(2, 4);
  BOOST_TEST(stored() == 0U);
  BOOST_TEST(worker.rows().refused() == 4U);
  BOOST_TEST(worker.rows().running() == 0U);
}

BOOST_FIXTURE_TEST_CASE(refused_commit_is_repeated_if_chunk_is_still_held, fixture) {
  connect();
  this->lease(chunk);
  lease_nothing();
  take_rows(4);
  end_rows(0, 4);
  static_cast<void>(commit(part_answer::verdict::lost, 0));
  connect({{{0, 4, 2}, {}}}); // a late statement has changed the fence
  BOOST_TEST(commit().parts.front().fence == 2U);
  BOOST_TEST(stored() == 4U);
}

/// `superstep jobs retry-dead` removes outputs and changes the fence.
BOOST_FIXTURE_TEST_CASE(retried_rows_of_held_chunk_run_again, fixture) {
  connect();
  this->lease(chunk);
  lease_nothing();
  take_rows(4);
  end_rows(0, 2);
  now += seconds{1};
  static_cast<void>(commit());
  BOOST_TEST(stored() == 2U);
  end_rows(2, 3);
  now += seconds{1};
  static_cast<void>(commit(part_answer::verdict::lost, 0));
  connect({{{0, 4, 2}, {1}}}); // the output of row 0 was removed
  static_cast<void>(commit());
  BOOST_TEST(stored() == 1U);
  static_cast<void>(expect<read_action>());
  worker.read(std::vector<std::uint64_t>{0, 3}, now);
  BOOST_TEST(worker.take(now).value_or(9) == 0U);
  BOOST_TEST(!worker.take(now).has_value());
  worker.ended(3);
  worker.ended(0);
  const auto last = commit();
  BOOST_TEST(last.rows.front() == (std::vector<std::uint64_t>{0, 3}),
             boost::test_tools::per_element());
  BOOST_TEST(stored() == 2U);
  BOOST_TEST(worker.rows().chunks().empty());
  BOOST_TEST(worker.rows().refused() == 0U);
}

BOOST_FIXTURE_TEST_CASE(rows_beyond_new_bound_belong_to_others, fixture) {
  connect();
  this->lease(chunk);
  lease_nothing();
  take_rows(1);
  end_rows(0, 1);
  static_cast<void>(commit(part_answer::verdict::stored, 2));
  BOOST_TEST(worker.take(now).value_or(9) == 1U);
  BOOST_TEST(!worker.take(now).has_value());
}

/// Another worker has taken the rows 2 and 3 and lost them before the worker learned the new bound.
BOOST_FIXTURE_TEST_CASE(chunk_split_off_from_own_one_runs_once, fixture) {
  connect();
  this->lease(chunk);
  this->lease({2, 4, 2});
  for (auto row = std::uint64_t{0}; row < 4; ++row)
    BOOST_TEST(worker.take(now).value_or(9) == row);
  BOOST_TEST(!worker.take(now).has_value());
  end_rows(0, 4);
  BOOST_TEST(worker.rows().refused() == 0U);
  const auto commit = expect<commit_action>();
  BOOST_TEST_REQUIRE(commit.rows.size() == 2U);
  BOOST_TEST(commit.rows[0].size() == 2U);
  BOOST_TEST(commit.rows[1].size() == 2U);
}

BOOST_FIXTURE_TEST_CASE(resized_part_is_committed_again_without_foreign_rows, fixture) {
  connect();
  this->lease(chunk);
  lease_nothing();
  take_rows(4);
  end_rows(0, 4);
  static_cast<void>(commit(part_answer::verdict::resized, 3));
  BOOST_TEST(worker.rows().refused() == 1U);
  BOOST_TEST(commit(part_answer::verdict::stored, 3).rows.front().size() == 3U);
  BOOST_TEST(stored() == 3U);
}

BOOST_FIXTURE_TEST_CASE(commit_without_answer_is_resolved, fixture) {
  connect();
  this->lease(chunk);
  lease_nothing();
  take_rows(4);
  end_rows(0, 3);
  now += seconds{1};
  static_cast<void>(expect<commit_action>());
  worker.failed(now);
  BOOST_TEST(worker.is_waiting_for_server());
  now = expect<pause_action>().until;
  BOOST_TEST(expect<resolve_action>().chunks.size() == 1U);
  worker.resolved({shared_job_state::open, {{{0, 4, 2}, {0, 1}}}}, now); // row 2 was not stored
  BOOST_TEST(stored() == 2U);
  const auto again = commit();
  BOOST_TEST(again.parts.front().fence == 2U);
  BOOST_TEST(again.rows.front() == std::vector<std::uint64_t>{2}, boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(chunk_whose_lease_had_no_answer_is_adopted, fixture) {
  connect();
  static_cast<void>(expect<lease_action>());
  worker.failed(now);
  now = expect<pause_action>().until;
  static_cast<void>(expect<resolve_action>());
  worker.resolved({shared_job_state::open, {{{8, 12, 2}, {}}}}, now);
  BOOST_TEST((expect<read_action>().chunks.front() == leased_chunk{8, 12, 2}));
}

BOOST_FIXTURE_TEST_CASE(rows_that_run_are_not_started_again, fixture) {
  connect();
  this->lease(chunk);
  lease_nothing();
  take_rows(2);
  now += options.lease;
  static_cast<void>(commit(part_answer::verdict::lost, 0));
  connect();
  this->lease({0, 4, 3}); // the worker gets the chunk back
  BOOST_TEST(worker.take(now).value_or(9) == 2U);
  end_rows(0, 2);
  BOOST_TEST(worker.rows().refused() == 0U);
}

BOOST_FIXTURE_TEST_CASE(pauses_between_attempts_to_connect_grow, fixture) {
  auto last = ledger_time{0};
  for (auto attempt = 0; attempt < 10; ++attempt) {
    static_cast<void>(expect<resolve_action>());
    worker.failed(now);
    last = expect<pause_action>().until - now;
    now += last;
  }
  BOOST_TEST((last > seconds{3}));
  BOOST_TEST((last < seconds{7}));
}

BOOST_FIXTURE_TEST_CASE(worker_gives_up_if_server_stays_away, fixture) {
  connect();
  this->lease(chunk);
  take_rows(1);
  end_rows(0, 1);
  static_cast<void>(expect<commit_action>());
  worker.failed(now);
  now += options.reconnect_timeout;
  static_cast<void>(expect<stop_action>());
  BOOST_TEST(worker.has_given_up());
  BOOST_TEST(worker.rows().unsettled() == 0U);
}

BOOST_FIXTURE_TEST_CASE(leases_do_not_replace_counts_of_rows, fixture) {
  connect();
  this->lease(chunk);
  now += seconds{7};
  lease_nothing();
  BOOST_TEST(expect<beat_action>().with_counts);
}

/// The server answers and has its chunks, but fails each commit, for example because of a full
/// disk.
BOOST_FIXTURE_TEST_CASE(worker_gives_up_if_commits_keep_failing, fixture) {
  connect();
  this->lease(chunk);
  lease_nothing();
  take_rows(4);
  end_rows(0, 1);
  const auto begun = now;
  auto longest = ledger_time{0};
  while (now - begun + seconds{10} < options.reconnect_timeout) {
    static_cast<void>(expect<commit_action>());
    worker.failed(now);
    const auto until = expect<pause_action>().until;
    longest = std::max(longest, until - now);
    now = until;
    connect({{chunk, {}}});
    BOOST_TEST(worker.is_waiting_for_server());
  }
  BOOST_TEST((longest > seconds{3}));
  static_cast<void>(expect<commit_action>());
  now = begun + options.reconnect_timeout;
  worker.failed(now);
  static_cast<void>(expect<stop_action>());
  BOOST_TEST(worker.has_given_up());
}

BOOST_FIXTURE_TEST_CASE(worker_forgets_absence_that_has_ended, fixture) {
  connect();
  this->lease(chunk);
  lease_nothing();
  take_rows(4);
  end_rows(0, 1);
  static_cast<void>(expect<commit_action>());
  worker.failed(now);
  now = expect<pause_action>().until;
  connect({{chunk, {}}});
  static_cast<void>(commit());
  lease_nothing();
  static_cast<void>(expect<pause_action>());
  BOOST_TEST(!worker.is_waiting_for_server());
  now += options.reconnect_timeout;
  static_cast<void>(expect<commit_action>()); // renews the lease
  worker.failed(now);
  static_cast<void>(expect<pause_action>());
  BOOST_TEST(!worker.has_given_up());
}

BOOST_FIXTURE_TEST_CASE(draining_worker_releases_its_chunks, fixture) {
  connect();
  this->lease(chunk);
  lease_nothing();
  take_rows(2);
  worker.drain();
  BOOST_TEST(!worker.take(now).has_value());
  static_cast<void>(expect<pause_action>());
  end_rows(0, 1);
  worker.abandon_running();
  BOOST_TEST(commit().rows.front().size() == 1U);
  BOOST_TEST((expect<release_action>().chunks.front() == chunk));
  worker.released();
  static_cast<void>(expect<stop_action>());
}

BOOST_FIXTURE_TEST_CASE(paused_job_starts_no_row_but_stores_ends, fixture) {
  connect();
  this->lease(chunk);
  static_cast<void>(expect<lease_action>());
  worker.leased({shared_job_state::paused, 1, {}}, now);
  BOOST_TEST(!worker.has_row(now));
  now = expect<pause_action>().until;
  static_cast<void>(expect<beat_action>());
  worker.beaten({shared_job_state::open, 1, 0, 0}, now);
  BOOST_TEST(worker.has_row(now));
}

BOOST_FIXTURE_TEST_CASE(worker_stops_when_job_is_finished, fixture) {
  connect();
  lease_nothing(shared_job_state::finished);
  static_cast<void>(expect<stop_action>());
}

BOOST_FIXTURE_TEST_CASE(chunk_without_rows_left_is_reported, fixture) {
  connect();
  static_cast<void>(expect<lease_action>());
  worker.leased({shared_job_state::open, 1, {chunk}}, now);
  static_cast<void>(expect<read_action>());
  worker.read({}, now);
  BOOST_TEST(commit().rows.front().empty());
  lease_nothing(shared_job_state::finished);
  static_cast<void>(expect<stop_action>());
}

BOOST_AUTO_TEST_CASE(worker_with_short_lease_gives_signs_of_life_within_it) {
  auto options = ledger_worker_options{};
  options.lease = seconds{2};
  auto worker = ledger_worker{options};
  const auto now = ledger_time{seconds{1'000}};
  BOOST_TEST_REQUIRE(std::holds_alternative<resolve_action>(worker.next(now)));
  worker.resolved({shared_job_state::open, {}}, now);
  for (auto members : {1U, 1'000U}) {
    BOOST_TEST_REQUIRE(std::holds_alternative<lease_action>(worker.next(now)));
    worker.leased({shared_job_state::open, members, {{members, members + 1, 1}}}, now);
    BOOST_TEST_REQUIRE(std::holds_alternative<read_action>(worker.next(now)));
    worker.read({}, now);
    auto action = worker.next(now);
    BOOST_TEST_REQUIRE(
        std::holds_alternative<commit_action>(action)); // nothing is left in the chunk
    worker.committed({shared_job_state::open, {{part_answer::verdict::stored, members + 1}}}, now);
  }
  BOOST_TEST_REQUIRE(std::holds_alternative<lease_action>(worker.next(now)));
  worker.leased({shared_job_state::open, 1'000, {}}, now);
  const auto wait = worker.next(now);
  BOOST_TEST_REQUIRE(std::holds_alternative<pause_action>(wait));
  BOOST_TEST((std::get<pause_action>(wait).until <= now + options.lease));
}
