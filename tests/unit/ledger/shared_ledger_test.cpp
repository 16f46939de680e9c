// SPDX-License-Identifier: Apache-2.0
// The ledger of a shared job for a batch_run: when a group of rows is stored, and what a budget
// sees of other workers. The database is the ledger in memory.
#include "batch/finished_row.hpp"
#include "ledger/shared_ledger.hpp"
#include "model_ledger.hpp"

#include <boost/test/unit_test.hpp>

#include <mutex>
#include <thread>

namespace {

using namespace superstep;
using namespace superstep::testing;
using namespace superstep::detail;

constexpr auto row_count = std::uint64_t{8};

/// The statements of a worker on a ledger in memory, whose clock stands still.
class model_db final : public ledger_db {
public:
  explicit model_db(std::string worker) : worker_{std::move(worker)} {}

  /// Leases the first chunk for another worker, which stores its rows.
  void store_chunk_of_other(const chunk_sums& sums) {
    const auto guard = std::lock_guard{mutex_};
    const auto leased = model_.lease("other", 1, false, 0, {}).chunks;
    auto request = commit_request{};
    request.parts.push_back({.first = leased.at(0).first,
                             .fence = leased.at(0).fence,
                             .next = leased.at(0).bound,
                             .sums = sums});
    for (auto row = leased.at(0).first; row < leased.at(0).bound; ++row)
      request.rows.push_back({.row = row});
    BOOST_TEST((model_.commit("other", request, {}).parts.at(0).what == //
                part_answer::verdict::stored));
  }
  /// Leases the chunks for another worker as if their leases had expired.
  void take_chunks_of_own() {
    const auto guard = std::lock_guard{mutex_};
    const auto taken = model_.lease("other", 16, false, 0, std::chrono::hours{2}).chunks;
    BOOST_TEST(!taken.empty());
  }
  [[nodiscard]] spent_sums spent() {
    const auto guard = std::lock_guard{mutex_};
    return model_.spent();
  }
  [[nodiscard]] std::uint64_t stored() {
    const auto guard = std::lock_guard{mutex_};
    return model_.stored();
  }

  result<lease_answer> lease(std::uint32_t count, bool may_split, std::uint32_t starting) override {
    const auto guard = std::lock_guard{mutex_};
    return model_.lease(worker_, count, may_split, starting, {});
  }
  result<std::vector<input_text>> read(const std::vector<leased_chunk>& chunks) override {
    const auto guard = std::lock_guard{mutex_};
    auto out = std::vector<input_text>{};
    for (const auto row : model_.read(chunks))
      out.push_back({row, row + 1,
                     "{\"id\":\"" + std::to_string(row) +
                         "\",\"messages\":[{\"role\":\"user\",\"content\":\"Hello.\"}]}"});
    return out;
  }
  result<commit_answer> commit(const commit_request& request) override {
    const auto guard = std::lock_guard{mutex_};
    return model_.commit(worker_, request, {});
  }
  result<resolve_answer> resolve(const std::vector<leased_chunk>& chunks) override {
    const auto guard = std::lock_guard{mutex_};
    return model_.resolve(worker_, chunks, {});
  }
  result<void> release(const std::vector<leased_chunk>& chunks) override {
    const auto guard = std::lock_guard{mutex_};
    model_.release(worker_, chunks);
    return {};
  }
  result<beat_answer> beat(bool with_counts) override {
    const auto guard = std::lock_guard{mutex_};
    return model_.beat(worker_, with_counts, {});
  }

private:
  std::string worker_;
  std::mutex mutex_;
  model_ledger model_{row_count, 4, std::chrono::hours{1}};
};

shared_job open_job() {
  auto out = shared_job{};
  out.name = "greetings";
  out.state = shared_job_state::open;
  out.rows = row_count;
  return out;
}

struct running_ledger {
  model_db db{"own"};
  batch_options options{};
  shared_ledger ledger{open_job(),
                       db,
                       ledger_worker_options{},
                       row_repeats{},
                       options,
                       [] { return false; },
                       std::nullopt,
                       line_cipher{"job"},
                       [] { return result<shared_job>{open_job()}; }};

  ~running_ledger() { BOOST_TEST(ledger.finish().has_value()); }

  finished_row take_row() {
    while (!ledger.is_ready())
      std::this_thread::yield(); // until the ledger's thread has read a chunk
    auto item = ledger.next();
    BOOST_TEST_REQUIRE((item.has_value() && item->has_value()));
    auto out = finished_row{};
    out.origin = (*item)->origin;
    out.line = "{}\n";
    out.counts.total_tokens = 15;
    out.counts.cost = 3;
    return out;
  }
};

} // namespace

BOOST_FIXTURE_TEST_CASE(group_is_full_if_no_row_can_join, running_ledger) {
  db.store_chunk_of_other({4});
  BOOST_TEST_REQUIRE(ledger.start().has_value());
  auto rows = std::vector<finished_row>{};
  for (auto i = 0; i < 4; ++i)
    rows.push_back(take_row());
  for (const auto& row : rows) {
    BOOST_TEST(!ledger.is_full());
    BOOST_TEST(ledger.add(row).has_value());
  }
  BOOST_TEST(ledger.is_full());
  BOOST_TEST(ledger.commit().has_value());
  BOOST_TEST(db.stored() == row_count);
}

BOOST_FIXTURE_TEST_CASE(group_waits_for_rows_that_may_start, running_ledger) {
  BOOST_TEST_REQUIRE(ledger.start().has_value());
  BOOST_TEST(ledger.add(take_row()).has_value());
  BOOST_TEST(!ledger.is_full());
}

BOOST_FIXTURE_TEST_CASE(answers_contain_cost_of_other_workers, running_ledger) {
  auto sums = chunk_sums{4};
  sums[7] = 60;
  sums[9] = 12;
  BOOST_TEST(ledger.spent_elsewhere().tokens == 0);
  db.store_chunk_of_other(sums);
  BOOST_TEST_REQUIRE(ledger.start().has_value());
  const auto row = take_row();
  BOOST_TEST(ledger.spent_elsewhere().tokens == 60);
  BOOST_TEST(ledger.spent_elsewhere().cost == 12);
  BOOST_TEST(ledger.add(row).has_value());
  BOOST_TEST(ledger.commit().has_value());
  BOOST_TEST(ledger.spent_elsewhere().tokens == 60); // without the worker's own row
}

BOOST_FIXTURE_TEST_CASE(stores_cost_of_rows_that_run_again, running_ledger) {
  BOOST_TEST_REQUIRE(ledger.start().has_value());
  const auto dropped = take_row();
  const auto row = take_row();
  ledger.add_spent(dropped.counts);
  BOOST_TEST(ledger.has_pending());
  BOOST_TEST(ledger.commit().has_value());
  BOOST_TEST(!ledger.has_pending());
  BOOST_TEST(db.spent().cost == 3);
  ledger.add_spent(dropped.counts);
  BOOST_TEST(ledger.add(row).has_value());
  BOOST_TEST(ledger.commit().has_value());
  BOOST_TEST(db.spent().cost == 9);
  BOOST_TEST(db.spent().tokens == 45);
  BOOST_TEST(db.stored() == 1U);
  BOOST_TEST(ledger.spent_elsewhere().cost == 0);
}

BOOST_FIXTURE_TEST_CASE(does_not_wait_to_store_cost_of_lost_rows, running_ledger) {
  BOOST_TEST_REQUIRE(ledger.start().has_value());
  const auto dropped = take_row();
  db.take_chunks_of_own();
  ledger.add_spent(dropped.counts);
  BOOST_TEST(ledger.commit().has_value());
  BOOST_TEST(db.spent().cost == 0);
}
