// SPDX-License-Identifier: Apache-2.0
// The ledger in memory, which the simulation uses, and a real server give the same answers and have
// the same tables after any sequence of statements.
//
// SUPERSTEP_SEEDS (10) sets the number of sequences, and SUPERSTEP_FIRST_SEED (1) the first seed.
#include "ledger/jobs.hpp"
#include "ledger/pg_ledger_db.hpp"
#include "ledger/submit.hpp"
#include "postgres_server.hpp"
#include "support/environment.hpp"
#include "unit/ledger/model_ledger.hpp"

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <array>
#include <random>
#include <thread>

namespace {

using namespace superstep::testing;
using superstep::test::number_from_environment;
using namespace superstep::detail;
using namespace std::chrono_literals;

constexpr auto worker_count = std::size_t{3};
constexpr auto row_count = std::uint64_t{64};

/// A sequence of statements of several workers. The clock of the model stands still, or jumps
/// beyond all leases together with the server's.
class sequence {
public:
  sequence(pg_connection& connection, std::int64_t job, std::uint64_t seed, std::uint64_t chunk)
      : connection_{connection}, job_{job}, random_{seed}, model_{row_count, chunk, 1h} {
    for (auto i = std::size_t{0}; i < worker_count; ++i)
      dbs_.emplace_back(connection_, worker_identity{job, name(i), "host", 1h, true});
    held_.resize(worker_count);
  }

  void step() {
    const auto worker = static_cast<std::size_t>(pick(worker_count));
    switch (pick(9)) {
    case 0:
    case 1:
      return lease(worker);
    case 2:
      return read(worker);
    case 3:
    case 4:
    case 5:
      return commit(worker);
    case 6:
      return resolve(worker);
    case 7:
      return pick(3) == 0 ? release(worker) : expire();
    default:
      return beat(worker);
    }
  }

  void compare_tables() {
    auto found = connection_.run(
        fmt::format(
            "select first, bound, fence, state, coalesce(worker, ''), next, ok, dead, steps, "
            "total_tokens, cost from superstep.chunks where job = {} order by first",
            job_)
            .c_str());
    BOOST_TEST_REQUIRE(found.has_value());
    auto server = std::string{};
    for (auto i = 0; i < found->size(); ++i) {
      for (auto k = 0; k < 11; ++k)
        server += std::string{found->text(i, k)} + ' ';
      server += '\n';
    }
    auto model = std::string{};
    for (const auto& [first, each] : model_.chunks())
      model += fmt::format("{} {} {} {} {} {} {} {} {} {} {} \n", first, each.bound, each.fence,
                           each.state, each.worker, each.next, each.sums[0], each.sums[1],
                           each.sums[2], each.sums[7], each.sums[9]);
    BOOST_TEST(server == model);
    auto stored = connection_.run(
        fmt::format("select string_agg((row * 10 + status)::text, ' ' order by row) "
                    "from superstep.outputs where job = {}",
                    job_)
            .c_str());
    auto wanted = std::string{};
    for (auto row = std::uint64_t{0}; row < row_count; ++row)
      if (const auto status = model_.outputs()[row]; status != 0)
        wanted += fmt::format("{}{}", wanted.empty() ? "" : " ", row * 10 + status - 1);
    BOOST_TEST(stored->text(0, 0) == wanted);
  }

private:
  static std::string name(std::size_t index) { return "worker-" + std::to_string(index); }
  std::uint64_t pick(std::uint64_t below) {
    return std::uniform_int_distribution<std::uint64_t>{0, below - 1}(random_);
  }

  void lease(std::size_t worker) {
    const auto count = static_cast<std::uint32_t>(1 + pick(2));
    const auto may_split = pick(2) == 0;
    const auto starting = static_cast<std::uint32_t>(pick(6));
    const auto server = dbs_[worker].lease(count, may_split, starting);
    const auto model = model_.lease(name(worker), count, may_split, starting, now_);
    BOOST_TEST_REQUIRE(server.has_value());
    BOOST_TEST((server->job == model.job));
    BOOST_TEST(server->members == model.members);
    BOOST_TEST((server->chunks == model.chunks));
    BOOST_TEST((server->spent == model.spent));
    held_[worker].insert(held_[worker].end(), model.chunks.begin(), model.chunks.end());
  }

  void read(std::size_t worker) {
    const auto server = dbs_[worker].read(held_[worker]);
    BOOST_TEST_REQUIRE(server.has_value());
    auto found = std::vector<std::uint64_t>{};
    for (const auto& each : *server) {
      found.push_back(each.row);
      BOOST_TEST(each.text == fmt::format("{{\"id\":\"{}\"}}", each.row));
    }
    auto wanted = model_.read(held_[worker]);
    BOOST_TEST(found == wanted, boost::test_tools::per_element());
  }

  /// Commits some rows of what the worker believes to hold, which may be lost or split.
  void commit(std::size_t worker) {
    auto request = commit_request{};
    auto held = held_[worker];
    std::ranges::shuffle(held, random_);
    for (const auto& each : held) {
      if (std::ranges::any_of(request.parts, [&](const auto& p) { return p.first == each.first; }))
        continue;
      auto part = chunk_part{.first = each.first, .fence = each.fence, .next = each.first};
      for (const auto row : model_.read({each})) {
        if (pick(3) != 0)
          continue;
        const auto is_dead = pick(4) == 0;
        request.rows.push_back({.row = row,
                                .part = request.parts.size(),
                                .is_dead = is_dead,
                                .line = "{}",
                                .dead = is_dead ? "{}" : ""});
        ++part.sums[is_dead ? 1 : 0];
        part.sums[2] += 7;
        part.sums[7] += static_cast<std::int64_t>(pick(100));
        part.sums[9] += static_cast<std::int64_t>(pick(1'000));
        part.next = row + 1;
      }
      request.parts.push_back(part);
    }
    const auto server = dbs_[worker].commit(request);
    BOOST_TEST_REQUIRE(server.has_value(), (server ? "" : server.error().text));
    const auto model = model_.commit(name(worker), request, now_);
    BOOST_TEST((server->parts == model.parts));
    if (!request.parts.empty()) {
      BOOST_TEST((server->job == model.job));
      BOOST_TEST((server->spent == model.spent));
    }
  }

  void resolve(std::size_t worker) {
    const auto server = dbs_[worker].resolve(held_[worker]);
    const auto model = model_.resolve(name(worker), held_[worker], now_);
    BOOST_TEST_REQUIRE(server.has_value());
    BOOST_TEST((server->job == model.job));
    BOOST_TEST((server->spent == model.spent));
    const auto key = [](const held_chunk& each) {
      return fmt::format("{} {} {} {}", each.chunk.first, each.chunk.bound, each.chunk.fence,
                         fmt::join(each.stored, ","));
    };
    auto found = std::vector<std::string>{};
    auto wanted = std::vector<std::string>{};
    std::ranges::transform(server->chunks, std::back_inserter(found), key);
    std::ranges::transform(model.chunks, std::back_inserter(wanted), key);
    std::ranges::sort(found);
    std::ranges::sort(wanted);
    BOOST_TEST(found == wanted, boost::test_tools::per_element());
    held_[worker].clear();
    for (const auto& each : model.chunks)
      held_[worker].push_back(each.chunk);
  }

  void release(std::size_t worker) {
    BOOST_TEST(dbs_[worker].release(held_[worker]).has_value());
    model_.release(name(worker), held_[worker]);
  }

  void beat(std::size_t worker) {
    const auto server = dbs_[worker].beat(true);
    const auto model = model_.beat(name(worker), true, now_);
    BOOST_TEST_REQUIRE(server.has_value());
    BOOST_TEST((server->job == model.job));
    BOOST_TEST(server->members == model.members);
    BOOST_TEST(server->done == model.done);
    BOOST_TEST(server->dead == model.dead);
    BOOST_TEST((server->spent == model.spent));
  }

  /// Ends all leases.
  void expire() {
    now_ += 2h;
    const auto job = std::to_string(job_);
    const auto script =
        "update superstep.chunks set lease_until = lease_until - interval '2 h' where job = " +
        job + "; update superstep.workers set seen = seen - interval '2 h' where job = " + job;
    BOOST_TEST(connection_.run_script(script.c_str()).has_value());
  }

  pg_connection& connection_;
  std::int64_t job_;
  std::mt19937_64 random_;
  model_ledger model_;
  model_ledger::time now_ = 1000h;
  std::vector<pg_ledger_db> dbs_;
  std::vector<std::vector<leased_chunk>> held_;
};

/// Creates a job with `row_count` rows.
shared_job make_job(pg_connection& connection, std::uint64_t seed, std::uint64_t chunk) {
  const auto folder = temporary_folder{};
  auto lines = std::string{};
  for (auto row = std::uint64_t{0}; row < row_count; ++row)
    lines += fmt::format(
        "{{\"id\":\"{}\",\"messages\":[{{\"role\":\"user\",\"content\":\"x\"}}]}}\n", row);
  write_file(folder / "in.jsonl", lines);
  const auto name = "job-" + std::to_string(seed);
  auto options = superstep::batch_options{};
  options.input = folder / "in.jsonl";
  const auto stop = superstep::stop_request{};
  const auto made =
      submit_job(connection, name, options,
                 submit_options{.agent = "a", .chunk_rows = chunk, .load_rows = 10}, stop);
  BOOST_TEST_REQUIRE(made.has_value(), (made ? "" : made.error().text));
  auto out = find_shared_job(connection, name);
  BOOST_TEST_REQUIRE(out.has_value());
  const auto shorten = fmt::format(
      "update superstep.inputs set text = format('{{\"id\":\"%s\"}}', row) where job = {}",
      out->number);
  BOOST_TEST_REQUIRE(connection.run_script(shorten.c_str()).has_value());
  return *std::move(out);
}

} // namespace

BOOST_AUTO_TEST_CASE(model_and_server_give_same_answers) {
  const auto server = postgres_server{};
  server.run("alter system set fsync = off"); // this server does not crash
  server.run("select pg_reload_conf()");
  auto connection = server.connect();
  const auto sequences = number_from_environment("SUPERSTEP_SEEDS", 10);
  const auto first = number_from_environment("SUPERSTEP_FIRST_SEED", 1);
  for (auto seed = first; seed < first + sequences; ++seed) {
    const auto chunk = 4 + seed % 20;
    const auto job = make_job(connection, seed, chunk);
    auto checked = sequence{connection, job.number, seed, chunk};
    BOOST_TEST_CONTEXT("seed " << seed) {
      for (auto step = 0; step < 60; ++step)
        checked.step();
      checked.compare_tables();
    }
    // A server with thousands of jobs is slower.
    BOOST_TEST_REQUIRE(drop_job(connection, job).has_value());
  }
}

/// A ledger may contain thousands of jobs, each with tables of its own.
BOOST_AUTO_TEST_CASE(statements_lock_no_table_of_another_job) {
  const auto server = postgres_server{};
  auto connection = server.connect();
  const auto job = make_job(connection, 1, row_count).number;
  const auto other = make_job(connection, 2, row_count).number;
  const auto count_locks =
      fmt::format("select count(*) from pg_locks where pid = pg_backend_pid() and "
                  "relation::regclass::text ~ 'puts_{}(_pkey)?$'",
                  other);
  const auto calls = std::array{
      "lease({}, 'w', 'h', 60000, 1, false, 0, false)",
      "read({}, '{{0}}', '{{64}}')",
      "commit({}, 'w', 60000, '{{0}}', '{{1}}', '{{1}}', '{{0}}', "
      "'{{0,1,0,0,0,0,0,0,0,0,0,0,0}}', '{{0}}', '{{1}}', '{{1}}', '{{a}}', '{{b}}', true)",
      "beat({}, 'w', 'h', 60000, true, true)",
      "resolve({}, 'w', 60000, '{{0}}', false)",
      "lease({}, 'v', 'h', 60000, 1, true, 0, false)",
      "export_rows({}, 0, 10)",
      "retry_dead({})"};
  for (const auto* const call : calls) {
    const auto statement = "select * from superstep." + fmt::format(fmt::runtime(call), job);
    BOOST_TEST_REQUIRE(connection.run_script("begin").has_value());
    const auto answer = connection.run(statement.c_str());
    BOOST_TEST_REQUIRE(answer.has_value(), (answer ? "" : answer.error().text));
    BOOST_TEST(connection.run(count_locks.c_str())->number(0, 0) == 0, call);
    BOOST_TEST_REQUIRE(connection.run_script("commit").has_value());
  }
  // The statements have found rows.
  BOOST_TEST(server.value(fmt::format(
                 "select array_agg(first || ' ' || worker || ' ' || dead order by first)::text "
                 "from superstep.chunks where job = {}",
                 job)) == "{\"0 w 0\",\"33 v 0\"}");
}
