// SPDX-License-Identifier: Apache-2.0
// Jobs that stop early because their rows fail: the conditions of --fail-if.
#include "batch/failure_watch.hpp"
#include "job_fixture.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>

BOOST_AUTO_TEST_SUITE(stop_rules)

namespace {

using namespace superstep;
using namespace superstep::testing;
using detail::failure_watch;
using verdict = failure_watch::verdict;

/// Ends the n-th started row, counted from 0, with the error code that `code_of` returns;
/// successfully if the code is empty. Holds no rows.
class coded_runner final : public row_runner {
public:
  std::unique_ptr<running_row> submit(row_request request, done_function done) override {
    auto outcome = echo(request);
    outcome.cost = cost;
    outcome.is_usage_unknown = is_usage_unknown;
    ++runs[request.key];
    if (const auto code = code_of(started++); !code.empty()) {
      outcome.status = row_status::error;
      outcome.error.emplace();
      outcome.error->kind = "model_error";
      outcome.error->code = code;
      outcome.error->message = "status 401: wrong key";
    }
    done(std::move(outcome));
    return std::make_unique<no_handle>();
  }

  void complete(batch_progress& now) const override {
    if (on_complete)
      on_complete(now);
  }

  std::function<std::string(int number)> code_of;
  std::function<void(batch_progress&)> on_complete;
  std::map<std::string, int> runs;
  int started = 0;
  std::optional<std::int64_t> cost; ///< of each row
  bool is_usage_unknown = false;    ///< of each row
};

/// Holds the first rows, and fails the others at once.
class failing_runner final : public row_runner {
public:
  static constexpr auto held_rows = 4;

  std::unique_ptr<running_row> submit(row_request request, done_function done) override {
    if (started++ < held_rows)
      return held.submit(std::move(request), std::move(done));
    auto outcome = echo(request);
    outcome.status = row_status::error;
    outcome.error.emplace();
    outcome.error->kind = "model_error";
    outcome.error->code = "unreachable";
    outcome.error->message = "Connection refused";
    done(std::move(outcome));
    return std::make_unique<no_handle>();
  }
  void complete(batch_progress& now) const override { now.calls_repeating = repeating; }

  held_runner held;
  int started = 0;
  std::size_t repeating = 0;
};

std::string good_lines(int count) {
  auto out = std::string{};
  for (auto i = 0; i < count; ++i)
    out += chat_line("row-" + std::to_string(i), "hi");
  return out;
}

struct coded_job : job {
  explicit coded_job(int rows) : job{good_lines(rows)} {}
  result<batch_summary> run() { return run_batch(options, coded, progress, stop); }
  [[nodiscard]] bool has_dead_letters() const {
    return std::filesystem::exists(folder / "out.dead.jsonl");
  }
  coded_runner coded;
};

struct environment_case {
  const char* code;
};
std::ostream& operator<<(std::ostream& out, const environment_case& c) {
  return out << c.code;
}

} // namespace

const auto environment_codes =
    std::vector<environment_case>{{"unauthorized"}, {"quota_exhausted"}, {"unreachable"},
                                  {"not_found"},    {"server_error"},    {"node_failed"}};

BOOST_DATA_TEST_CASE(job_without_success_stops_and_keeps_rows,
                     boost::unit_test::data::make(environment_codes), c) {
  auto job = coded_job{500};
  job.coded.code_of = [&](int) { return std::string{c.code}; };
  const auto summary = job.run();
  BOOST_REQUIRE(summary.has_value());
  BOOST_TEST(static_cast<int>(summary->code) == 3);
  BOOST_TEST((summary->stop.cause == stop_cause::failing));
  BOOST_TEST(summary->stop.text.find("status 401: wrong key") != std::string::npos);
  BOOST_TEST(summary->failed == 0U);
  BOOST_TEST(summary->left() == 500U);
  BOOST_TEST(job.coded.started < 100);
  BOOST_TEST(job.file("out.jsonl").empty());
  BOOST_TEST(!job.has_dead_letters());
  BOOST_TEST(to_json(*summary).at("stop").at("cause").as_string() == "fail_if");
  // The cause is corrected: the same job runs all rows.
  job.coded.code_of = [](int) { return std::string{}; };
  const auto resumed = job.run();
  BOOST_REQUIRE(resumed.has_value());
  BOOST_TEST(static_cast<int>(resumed->code) == 0);
  BOOST_TEST(resumed->ok == 500U);
  BOOST_TEST(job.output().size() == 500U);
}

BOOST_AUTO_TEST_CASE(high_concurrency_starts_few_rows_without_success) {
  auto job = coded_job{500};
  job.options.concurrency = 400;
  auto runner = held_runner{};
  auto most = std::size_t{0};
  runner.on_submit = [&](std::size_t held) { most = std::max(most, held); };
  auto releaser = std::jthread{[&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      std::this_thread::sleep_for(std::chrono::milliseconds{300});
      runner.release();
    }
  }};
  const auto summary = run_batch(job.options, runner, job.progress, job.stop);
  releaser.request_stop();
  BOOST_REQUIRE(summary.has_value());
  BOOST_TEST(summary->ok == 500U);
  BOOST_TEST(most > detail::trial_rows_max); // the limit ends with the first success
}

BOOST_AUTO_TEST_CASE(failures_before_first_success_become_dead_letters) {
  auto job = coded_job{200};
  job.coded.code_of = [](int number) { return std::string{number < 40 ? "unauthorized" : ""}; };
  const auto summary = job.run();
  BOOST_REQUIRE(summary.has_value());
  BOOST_TEST(static_cast<int>(summary->code) == 2);
  BOOST_TEST(summary->failed == 40U);
  BOOST_TEST(rows_of(job.file("out.dead.jsonl")).size() == 40U);
}

BOOST_AUTO_TEST_CASE(outage_after_success_stops_the_job) {
  auto job = coded_job{4'000}; // rows end at once, so up to 1,024 of them wait for the writer
  job.coded.code_of = [](int number) { return std::string{number < 100 ? "" : "unreachable"}; };
  const auto summary = job.run();
  BOOST_REQUIRE(summary.has_value());
  BOOST_TEST(static_cast<int>(summary->code) == 3);
  BOOST_TEST(summary->ok == 100U);
  BOOST_TEST(summary->failed == 0U);
  BOOST_TEST(job.coded.started < 4'000);
  BOOST_TEST(!job.has_dead_letters());
}

BOOST_AUTO_TEST_CASE(errors_of_single_rows_do_not_stop_job) {
  auto job = coded_job{300};
  job.coded.code_of = [](int number) { return std::string{number < 100 ? "" : "bad_request"}; };
  const auto summary = job.run();
  BOOST_REQUIRE(summary.has_value());
  BOOST_TEST(static_cast<int>(summary->code) == 2);
  BOOST_TEST(summary->failed == 200U);
}

BOOST_AUTO_TEST_CASE(small_job_without_success_reports_dead_rows) {
  auto job = coded_job{20};
  job.coded.code_of = [](int) { return std::string{"unauthorized"}; };
  const auto summary = job.run();
  BOOST_REQUIRE(summary.has_value());
  BOOST_TEST(static_cast<int>(summary->code) == 2);
  BOOST_TEST(summary->failed == 20U);
}

BOOST_AUTO_TEST_CASE(none_runs_all_rows_of_failing_job) {
  auto job = coded_job{300};
  BOOST_REQUIRE(parse_fail_if("none", job.options.rules).has_value());
  job.coded.code_of = [](int) { return std::string{"unauthorized"}; };
  const auto summary = job.run();
  BOOST_REQUIRE(summary.has_value());
  BOOST_TEST(static_cast<int>(summary->code) == 2);
  BOOST_TEST(summary->failed == 300U);
}

BOOST_AUTO_TEST_CASE(error_rate_stops_job_after_fifty_rows) {
  auto job = coded_job{300};
  BOOST_REQUIRE(parse_fail_if("error-rate>0.2", job.options.rules).has_value());
  job.options.concurrency = 1;
  job.coded.code_of = [](int number) { return std::string{number % 3 == 2 ? "bad_answer" : ""}; };
  const auto summary = job.run();
  BOOST_REQUIRE(summary.has_value());
  BOOST_TEST(static_cast<int>(summary->code) == 3);
  BOOST_TEST(summary->rows_this_run == 50U);
  BOOST_TEST(summary->failed > 0U);
  BOOST_TEST(summary->stop.text.find("0.2") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(number_of_dead_rows_stops_job) {
  auto job = coded_job{300};
  BOOST_REQUIRE(parse_fail_if("dead>10", job.options.rules).has_value());
  job.options.concurrency = 1;
  job.coded.code_of = [](int number) { return std::string{number % 3 == 2 ? "bad_answer" : ""}; };
  const auto summary = job.run();
  BOOST_REQUIRE(summary.has_value());
  BOOST_TEST(static_cast<int>(summary->code) == 3);
  BOOST_TEST(summary->failed == 11U);
  BOOST_TEST(summary->left() > 0U);
  BOOST_TEST(superstep::to_text(*summary).find("stopped: 11 rows have") != std::string::npos);
  // The next run has a limit of its own.
  job.coded.code_of = [](int) { return std::string{}; };
  BOOST_TEST(job.run().value().left() == 0U);
}

BOOST_AUTO_TEST_CASE(rules_apply_to_the_last_rows) {
  struct rule_case {
    std::string rule;
    int code;
  };
  for (const auto& [rule, code] :
       {rule_case{"none,dead>1", 3}, {"none,dead>2", 2}, {"none,error-rate>0.03", 3}}) {
    auto job = coded_job{60};
    BOOST_REQUIRE(parse_fail_if(rule, job.options.rules).has_value());
    job.options.concurrency = 1;
    job.coded.code_of = [](int number) { return std::string{number >= 58 ? "bad_answer" : ""}; };
    const auto summary = job.run();
    BOOST_REQUIRE(summary.has_value());
    BOOST_TEST(summary->left() == 0U);
    BOOST_TEST(summary->failed == 2U);
    BOOST_TEST(static_cast<int>(summary->code) == code, rule);
    BOOST_TEST((summary->stop.cause == stop_cause::failing) == (code == 3));
    // No row was left, so nothing was stopped.
    const auto text = superstep::to_text(*summary);
    BOOST_TEST(text.find("stopped") == std::string::npos, text);
    const auto has_reason = text.find("exit code 3, because") != std::string::npos &&
                            text.find("(--fail-if)") != std::string::npos;
    BOOST_TEST(has_reason == (code == 3), text);
  }
}

BOOST_AUTO_TEST_CASE(rows_held_at_a_stop_by_number_run_again) {
  auto job = coded_job{300};
  BOOST_REQUIRE(parse_fail_if("dead>5", job.options.rules).has_value());
  job.coded.code_of = [](int) { return std::string{"unauthorized"}; };
  const auto summary = job.run();
  BOOST_REQUIRE(summary.has_value());
  BOOST_TEST(summary->failed == 0U);
  BOOST_TEST(summary->left() == 300U);
  const auto& text = summary->stop.text;
  const auto failed = std::to_string(job.coded.started);
  BOOST_TEST(text.starts_with(failed +
                              " rows have failed in this run, more than 5 (--fail-if): "
                              "status 401: wrong key. " +
                              failed + " failed rows may succeed"),
             text);
  BOOST_TEST(!job.has_dead_letters());
  job.coded.code_of = [](int) { return std::string{}; };
  BOOST_TEST(job.run().value().ok == 300U);
}

BOOST_AUTO_TEST_CASE(first_request_cancels_drain_of_a_rule) {
  auto job = testing::job{good_lines(40)};
  auto runner = failing_runner{};
  BOOST_REQUIRE(parse_fail_if("dead>5", job.options.rules).has_value());
  job.progress.on_update = [&](const batch_progress& now) {
    if (now.draining)
      job.stop.request();
  };
  const auto summary = run_batch(job.options, runner, job.progress, job.stop);
  BOOST_REQUIRE(summary.has_value());
  BOOST_TEST(summary->left() == 40U);
  BOOST_TEST((summary->stop.cause == stop_cause::failing));
  BOOST_REQUIRE(job.progress.notes.size() == 2U);
  const auto& drain = job.progress.notes[0];
  BOOST_TEST(drain.starts_with("the job stops because rows fail; draining: 4 rows in flight"),
             drain);
  BOOST_TEST(drain.ends_with(". Ctrl-C cancels them now"), drain);
  BOOST_TEST(job.progress.notes[1].starts_with("stopped on request; "), job.progress.notes[1]);
}

BOOST_AUTO_TEST_CASE(drain_of_a_failing_job_gives_up_repeated_calls) {
  auto job = testing::job{good_lines(40)};
  auto runner = failing_runner{};
  runner.repeating = failing_runner::held_rows;
  BOOST_REQUIRE(parse_fail_if("dead>5", job.options.rules).has_value());
  const auto summary = run_batch(job.options, runner, job.progress, job.stop);
  BOOST_REQUIRE(summary.has_value());
  BOOST_TEST(summary->left() == 40U);
  BOOST_TEST((summary->stop.cause == stop_cause::failing));
  BOOST_REQUIRE(job.progress.notes.size() == 2U);
  BOOST_TEST(job.progress.notes[1].starts_with("the calls of all rows in flight fail"),
             job.progress.notes[1]);
}

BOOST_AUTO_TEST_CASE(budget_stops_job_whose_usage_is_unknown) {
  for (const auto is_in_dollars : {false, true}) {
    auto job = coded_job{300};
    (is_in_dollars ? job.options.rules.budget : job.options.rules.budget_tokens) = 1'000'000'000;
    job.options.concurrency = 8;
    job.coded.code_of = [](int) { return std::string{}; };
    job.coded.is_usage_unknown = true;
    const auto summary = job.run();
    BOOST_REQUIRE(summary.has_value());
    BOOST_TEST((summary->stop.cause == stop_cause::budget));
    BOOST_TEST(summary->stop.text.find(is_in_dollars ? "--budget-usd" : "--budget-tokens") !=
                   std::string::npos,
               summary->stop.text);
    BOOST_TEST(job.coded.started <= 8);
    BOOST_TEST(summary->ok == static_cast<std::uint64_t>(job.coded.started));
  }
}

BOOST_AUTO_TEST_CASE(unknown_usage_is_noted_once) {
  auto job = coded_job{30};
  job.coded.code_of = [](int) { return std::string{}; };
  job.coded.is_usage_unknown = true;
  const auto summary = job.run();
  BOOST_REQUIRE(summary.has_value());
  BOOST_TEST(summary->ok == 30U);
  BOOST_TEST(!summary->cost.has_value());
  BOOST_REQUIRE(job.progress.notes.size() == 1U);
  BOOST_TEST(job.progress.notes[0].find("does not report the tokens") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(cost_budget_stops_within_rows_in_flight) {
  auto job = coded_job{300};
  job.options.rules.budget = 50 * 1'000'000; // 50 rows
  job.options.concurrency = 8;
  job.coded.code_of = [](int) { return std::string{}; };
  job.coded.cost = 1'000'000;
  const auto summary = job.run();
  BOOST_REQUIRE(summary.has_value());
  BOOST_TEST(static_cast<int>(summary->code) == 3);
  BOOST_TEST((summary->stop.cause == stop_cause::budget));
  BOOST_TEST(summary->ok == 50U); // rows end when they are submitted
  BOOST_TEST(summary->cost.value() == static_cast<double>(summary->ok) * 0.001);
  BOOST_TEST(summary->stop.text.find("$0.05 (--budget-usd)") != std::string::npos,
             summary->stop.text);
  // The budget is that of the whole job: no row runs until it is raised.
  const auto started = job.coded.started;
  const auto same = job.run();
  BOOST_REQUIRE(same.has_value());
  BOOST_TEST(static_cast<int>(same->code) == 3);
  BOOST_TEST(job.coded.started == started);
  job.options.rules.budget.reset();
  const auto rest = job.run();
  BOOST_REQUIRE(rest.has_value());
  BOOST_TEST(rest->ok == 300U);
  BOOST_TEST(rest->cost.value() == 0.3, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(job.output().at("row-1").at("cost").to_number<double>() == 0.001);
}

BOOST_AUTO_TEST_CASE(budget_includes_rows_that_run_again) {
  auto job = coded_job{40};
  job.options.rules.budget = 60 * 1'000'000; // 60 rows
  job.options.concurrency = 4;
  BOOST_REQUIRE(parse_fail_if("none", job.options.rules).has_value());
  // The first 8 rows succeed, all others fail.
  job.coded.code_of = [](int number) { return number < 8 ? std::string{} : "invalid_response"; };
  job.coded.cost = 1'000'000;
  const auto first = job.run();
  BOOST_REQUIRE(first.has_value());
  BOOST_TEST(first->failed == 32U);
  BOOST_TEST(first->cost.value() == 0.04, boost::test_tools::tolerance(1e-9));
  job.options.retry_dead = true;
  const auto second = job.run();
  BOOST_REQUIRE(second.has_value());
  BOOST_TEST((second->stop.cause == stop_cause::budget));
  BOOST_TEST(job.coded.started == 60);
  BOOST_TEST(second->cost.value() == 0.06, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(second->model_calls == 60U);
  // With a spent budget no row would run, so the lines of failed rows are not removed.
  const auto before = job.file("out.dead.jsonl");
  BOOST_TEST(!before.empty());
  const auto third = job.run();
  BOOST_REQUIRE(!third.has_value());
  BOOST_TEST(third.error().text.find("--budget-usd") != std::string::npos, third.error().text);
  BOOST_TEST(job.coded.started == 60);
  BOOST_TEST(job.file("out.dead.jsonl") == before);
}

BOOST_AUTO_TEST_CASE(budget_includes_failed_rows_that_are_not_dead_letters) {
  auto job = coded_job{300};
  job.options.concurrency = 4;
  job.coded.code_of = [](int) { return std::string{"unauthorized"}; };
  job.coded.cost = 1'000'000;
  const auto first = job.run();
  BOOST_REQUIRE(first.has_value());
  BOOST_TEST((first->stop.cause == stop_cause::failing));
  BOOST_TEST(first->failed == 0U);
  const auto started = static_cast<unsigned>(job.coded.started);
  BOOST_TEST(started >= 50U);
  BOOST_TEST(first->cost.value() == 0.001 * started, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(first->model_calls == started);
  // The next runs know the costs.
  job.options.rules.budget = std::int64_t{1'000'000} * (started + 5);
  const auto second = job.run();
  BOOST_REQUIRE(second.has_value());
  BOOST_TEST((second->stop.cause == stop_cause::budget));
  BOOST_TEST(static_cast<unsigned>(job.coded.started) == started + 5);
  BOOST_TEST(second->cost.value() == 0.001 * (started + 5), boost::test_tools::tolerance(1e-9));
  const auto third = job.run();
  BOOST_REQUIRE(third.has_value());
  BOOST_TEST(static_cast<unsigned>(job.coded.started) == started + 5);
  BOOST_TEST(third->cost.value() == 0.001 * (started + 5), boost::test_tools::tolerance(1e-9));
}

/// Ends rows in pairs, so that a row is in flight when the budget is spent.
class paired_runner final : public row_runner {
public:
  std::unique_ptr<running_row> submit(row_request request, done_function done) override {
    auto outcome = echo(request);
    outcome.cost = 1'000'000;
    held.emplace_back([done = std::move(done), outcome]() mutable { done(std::move(outcome)); });
    if (held.size() == 2)
      for (auto& end : std::exchange(held, {}))
        end();
    return std::make_unique<no_handle>();
  }
  std::vector<std::function<void()>> held;
};

BOOST_AUTO_TEST_CASE(budget_stop_and_summary_have_the_same_cost) {
  auto job = coded_job{300};
  job.options.rules.budget = 9 * 1'000'000;
  job.options.concurrency = 2;
  auto runner = paired_runner{};
  const auto summary = run_batch(job.options, runner, job.progress, job.stop);
  BOOST_REQUIRE(summary.has_value());
  BOOST_TEST(summary->ok == 10U);
  BOOST_TEST(summary->stop.text.find("the job has cost $0.01,") != std::string::npos,
             summary->stop.text);
  BOOST_TEST(to_text(*summary).find(" out), $0.01\n") != std::string::npos, to_text(*summary));
}

BOOST_AUTO_TEST_CASE(summary_counts_failed_rows_by_code) {
  auto job = coded_job{200};
  job.coded.code_of = [](int number) {
    return std::string{number % 10 == 1   ? "bad_request"
                       : number % 50 == 2 ? "invalid_response"
                                          : ""};
  };
  const auto summary = job.run();
  BOOST_REQUIRE(summary.has_value());
  BOOST_TEST(to_text(to_json(*summary).at("errors")) ==
             R"({"bad_request":20,"invalid_response":4})");
  BOOST_TEST(summary->last_error == "status 401: wrong key");
}

BOOST_AUTO_TEST_CASE(error_of_held_rows_is_reported) {
  auto job = coded_job{20};
  job.coded.code_of = [](int) { return std::string{"unreachable"}; };
  job.options.limit = 3;
  job.coded.on_complete = [](batch_progress& now) {
    if (now.last_error.empty())
      return;
    now.retries = 7;
    now.last_error += " (from the runner)";
  };
  const auto summary = job.run();
  BOOST_REQUIRE(summary.has_value());
  BOOST_TEST(summary->last_error == "status 401: wrong key (from the runner)");
}

BOOST_AUTO_TEST_CASE(token_budget_stops_job) {
  auto job = coded_job{300};
  job.options.rules.budget_tokens = 500; // 100 rows
  job.options.concurrency = 4;
  job.coded.code_of = [](int) { return std::string{}; };
  const auto summary = job.run();
  BOOST_REQUIRE(summary.has_value());
  BOOST_TEST(static_cast<int>(summary->code) == 3);
  BOOST_TEST(summary->total_tokens == 500); // rows end when they are submitted
  BOOST_TEST(summary->left() > 0U);
  BOOST_TEST(summary->stop.text.find("budget of 500 (--budget-tokens)") != std::string::npos);
  BOOST_TEST(!summary->cost.has_value());
  BOOST_TEST(job.output().at("row-1").at("cost").is_null());
}

BOOST_AUTO_TEST_CASE(cost_survives_loss_of_the_journal_records) {
  auto job = coded_job{20};
  job.coded.code_of = [](int) { return std::string{}; };
  job.coded.cost = 1'234'567;
  BOOST_REQUIRE(job.run().has_value());
  // Only the header remains, as after a crash before the first group was written.
  const auto journal = job.file("out.journal");
  write_file(job.folder / "out.journal", journal.substr(0, journal.find('\n') + 1));
  std::filesystem::remove(job.folder / "out.summary.json");
  const auto again = job.run();
  BOOST_REQUIRE(again.has_value());
  BOOST_TEST(again->ok == 20U);
  BOOST_TEST(again->cost.value() == 20 * 0.001234567, boost::test_tools::tolerance(1e-9));
}

BOOST_AUTO_TEST_CASE(watch_releases_rows_with_different_errors) {
  auto watch = failure_watch{superstep::stop_rules{}};
  for (auto i = 0; i < 25; ++i) {
    BOOST_TEST((watch.failed("bad_request") == verdict::hold));
    const auto last = watch.failed("recursion_limit");
    BOOST_TEST((last == (i < 24 ? verdict::hold : verdict::release)));
  }
  BOOST_TEST(!watch.is_on_trial());
  BOOST_TEST((watch.failed("bad_request") == verdict::write));
  BOOST_TEST((watch.failed("unauthorized") == verdict::hold));
  BOOST_TEST((watch.succeeded() == verdict::release));
}

BOOST_AUTO_TEST_CASE(watch_decides_within_rows_of_the_trial) {
  for (auto outside = 0U; outside < detail::judged_rows; ++outside) {
    auto watch = failure_watch{superstep::stop_rules{}};
    for (auto i = 0U; i < detail::trial_rows_max; ++i)
      static_cast<void>(watch.failed(i < outside ? "unreachable" : "bad_request"));
    BOOST_TEST(!watch.is_on_trial(), outside);
  }
}

BOOST_AUTO_TEST_CASE(fail_if_accepts_lists_of_conditions) {
  auto rules = superstep::stop_rules{};
  BOOST_REQUIRE(parse_fail_if("error-rate>0.25, dead>7", rules).has_value());
  BOOST_TEST(rules.without_success);
  BOOST_TEST(rules.error_rate_max.value() == 0.25);
  BOOST_TEST(rules.dead_max.value() == 7U);
  BOOST_REQUIRE(parse_fail_if("none,dead>0", rules).has_value());
  BOOST_TEST(!rules.without_success);
  BOOST_TEST(rules.dead_max.value() == 0U);
}

BOOST_AUTO_TEST_CASE(fail_if_rejects_invalid_conditions) {
  for (const auto* text : {"", "errors", "error-rate", "error-rate>", "error-rate>1",
                           "error-rate>x", "error-rate>-1", "error-rate>nan", "dead>", "dead>-1",
                           "dead>1.5", "dead>5,none", "none,", "error-rate>=0.2"}) {
    auto rules = superstep::stop_rules{};
    BOOST_TEST(parse_fail_if(text, rules).has_error(), text);
  }
}

BOOST_AUTO_TEST_SUITE_END()
