// SPDX-License-Identifier: Apache-2.0
// Jobs that are killed at every kind of record of their journal, and then resumed.
#include "process.hpp"

#include <boost/test/unit_test.hpp>

#include <csignal>
#include <set>
#include <sstream>

BOOST_AUTO_TEST_SUITE(killed_at_record)

namespace {

using namespace superstep::testing;

/// A job with failing rows, an invalid line and a repeated id among the good rows. Its output has
/// fields in the order of the input, so that the journal has records of all kinds.
struct mixed_job : cli_job {
  mixed_job() {
    write("agent.yaml", "name: mixed\nmodel: {provider: scripted, path: rules.yaml}\n"
                        "tools: [calculator]\n");
    write("rules.yaml",
          "rules:\n  - {match: add, calls: [{name: calculator, args: {expression: 1+1}}]}\n"
          "  - {match: '^2$', text: Two.}\n");
    auto lines = std::string{};
    for (auto i = 0; i < 30; ++i) {
      auto messages =
          json::array{json::object{{"role", "user"}, {"content", i % 7 == 3 ? "unknown" : "add"}}};
      lines += json::serialize(json::object{{"id", "row-" + std::to_string(i)},
                                            {"messages", std::move(messages)}}) +
               '\n';
      if (i == 11)
        lines += "no row\n";
    }
    write("in.jsonl", lines + lines.substr(0, lines.find('\n') + 1));
    output = folder / "out.csv";
  }

  [[nodiscard]] std::vector<std::string> command(std::vector<std::string> more) const {
    more.insert(more.end(), {"--on-bad-line", "dead-letter", "--fields", "status,answer,steps",
                             "--order", "input", "--concurrency", "3"});
    return arguments(more);
  }
  /// Runs the job, and kills it at a record. Returns whether it was killed.
  [[nodiscard]] bool run_until(const std::string& record, const std::vector<std::string>& more) {
    auto words = std::vector<std::string>{"env", "LD_PRELOAD=" SUPERSTEP_KILL_AT_RECORD,
                                          "ASAN_OPTIONS=verify_asan_link_order=0",
                                          "SUPERSTEP_KILL_AT=" + record};
    const auto job = command(more);
    words.insert(words.end(), job.begin(), job.end());
    auto child = process{words};
    return child.wait().signal == SIGKILL;
  }
  void finish(const std::vector<std::string>& more = {}) {
    auto child = process{command(more)};
    const auto end = child.wait();
    BOOST_TEST(end.exit_code == 2, end.out << end.err);
  }
  [[nodiscard]] std::multiset<std::string> dead_letters() const {
    auto out = std::multiset<std::string>{};
    auto in = std::istringstream{read("out.dead.jsonl")};
    for (auto line = std::string{}; std::getline(in, line);)
      out.insert(line);
    return out;
  }
};

/// A job that stops because its first 60 rows fail. --fail-if none runs all of them.
struct failing_job : mixed_job {
  failing_job() {
    auto lines = std::string{};
    for (auto i = 0; i < 64; ++i) {
      auto messages =
          json::array{json::object{{"role", "user"}, {"content", i < 60 ? "unknown" : "add"}}};
      lines += json::serialize(json::object{{"id", "row-" + std::to_string(i)},
                                            {"messages", std::move(messages)}}) +
               '\n';
    }
    write("in.jsonl", lines);
  }
};

/// Returns the number of model calls in the summary. It includes those of removed rows.
std::int64_t model_calls(const mixed_job& job) {
  return json::parse(job.read("out.summary.json")).at("model_calls").as_int64();
}

struct expectation {
  std::string output;
  rows_by_key rows;
  std::multiset<std::string> dead;
};

expectation uninterrupted() {
  auto job = mixed_job{};
  job.finish();
  return {job.read("out.csv"), read_rows(job.read("out.rows.jsonl")), job.dead_letters()};
}

void check(const mixed_job& job, const expectation& expected) {
  BOOST_TEST(job.read("out.csv") == expected.output);
  check_equal_rows(read_rows(job.read("out.rows.jsonl")), expected.rows);
  BOOST_TEST((job.dead_letters() == expected.dead));
}

constexpr auto places = {"before", "torn", "after"};

} // namespace

BOOST_AUTO_TEST_CASE(job_killed_at_each_record_ends_like_uninterrupted_one) {
  const auto expected = uninterrupted();
  BOOST_TEST(expected.rows.size() == 30U);
  BOOST_TEST(expected.dead.size() == 6U);
  auto killed = 0;
  for (const auto* kind : {"job", "view", "start", "ok", "dead", "bad"})
    for (const auto* place : places)
      for (const auto* count : {"1", "2", "4"}) {
        const auto record = std::string{kind} + ' ' + count + ' ' + place;
        BOOST_TEST_CONTEXT(record) {
          auto job = mixed_job{};
          const auto is_killed = job.run_until(record, {});
          const auto is_rare = std::string_view{kind} == "job" ||
                               std::string_view{kind} == "view" || std::string_view{kind} == "bad";
          BOOST_TEST((is_killed || (is_rare && std::string_view{count} != "1")));
          killed += is_killed ? 1 : 0;
          job.finish();
          check(job, expected);
        }
      }
  BOOST_TEST(killed >= 40);
}

BOOST_AUTO_TEST_CASE(stop_killed_at_records_of_spent_rows_ends_like_uninterrupted_one) {
  auto whole = failing_job{};
  whole.finish({"--fail-if", "none"});
  for (const auto* place : places)
    for (const auto* count : {"1", "20", "50"}) {
      const auto record = std::string{"spent "} + count + ' ' + place;
      BOOST_TEST_CONTEXT(record) {
        auto job = failing_job{};
        BOOST_TEST(job.run_until(record, {}));
        job.finish({"--fail-if", "none"});
        check(job, {whole.read("out.csv"), read_rows(whole.read("out.rows.jsonl")),
                    whole.dead_letters()});
        BOOST_TEST(model_calls(job) >= model_calls(whole));
      }
    }
}

BOOST_AUTO_TEST_CASE(retry_killed_at_each_record_ends_like_uninterrupted_one) {
  const auto expected = uninterrupted();
  auto retried = mixed_job{};
  retried.finish();
  const auto calls_once = model_calls(retried);
  retried.finish({"--retry-dead"});
  const auto calls = model_calls(retried);
  BOOST_TEST(calls > calls_once);
  for (const auto* kind : {"rebuild", "rebuilt", "view", "ok", "bad", "start", "dead"})
    for (const auto* place : places) {
      const auto record = std::string{kind} + " 1 " + place;
      BOOST_TEST_CONTEXT(record) {
        auto job = mixed_job{};
        job.finish();
        BOOST_TEST(job.run_until(record, {"--retry-dead"}));
        job.finish({"--retry-dead"});
        check(job, expected);
        // Later kills come when rows have failed again, and then these are removed as well.
        if (std::string_view{kind}.starts_with("rebuil"))
          BOOST_TEST(model_calls(job) == calls);
        else
          BOOST_TEST(model_calls(job) >= calls);
      }
    }
}

BOOST_AUTO_TEST_SUITE_END()
