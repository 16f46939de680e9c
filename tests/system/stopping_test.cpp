// SPDX-License-Identifier: Apache-2.0
// Jobs that stop before they waste money: a wrong key, an empty account, an unreachable server.
#include "models/loopback_server.hpp"
#include "process.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

BOOST_AUTO_TEST_SUITE(stopping)

namespace {

using namespace superstep::testing;
using superstep::test::loopback_server;

constexpr auto row_count = 300;

/// A model server that refuses requests, or answers them, depending on `refusal`.
struct fickle_server {
  /// Returns the status line and the body of a refusal; an empty text to answer.
  std::function<std::string(int number)> refusal;
  bool reports_usage = true; ///< must not change while a job runs
  std::atomic<int> refused{0};
  std::atomic<int> answered{0};
  loopback_server server{[this](loopback_server::socket& socket, int number) {
    if (loopback_server::read_head(socket).empty())
      return;
    const auto refused_as = refusal(number);
    const auto space = refused_as.find('\n');
    const auto is_refused = !refused_as.empty();
    const auto status = is_refused ? refused_as.substr(0, space) : "200 OK";
    const auto body =
        is_refused
            ? refused_as.substr(space + 1)
            : R"({"model":"m","choices":[{"message":{"role":"assistant","content":"yes"}}])" +
                  std::string{reports_usage ? R"(,"usage":{"prompt_tokens":10,)"
                                              R"("completion_tokens":5,"total_tokens":15}})"
                                            : "}"};
    ++(is_refused ? refused : answered);
    loopback_server::write(socket, "HTTP/1.1 " + status +
                                       "\r\nContent-Type: application/json\r\nConnection: close\r\n"
                                       "Content-Length: " +
                                       std::to_string(body.size()) + "\r\n\r\n" + body);
  }};
};

json::object job_summary(const cli_job& job) {
  return json::parse(job.read("out.summary.json")).as_object();
}

/// A job of `row_count` rows against a server.
struct stopped_job : cli_job {
  explicit stopped_job(const std::string& address, const std::string& more = "") {
    write("agent.yaml", "name: asks\nmodel: {provider: openai, model: m, base_url: \"" + address +
                            "\", api_key_env: \"\", attempts_max: 2, backoff_base_ms: 1}\n" + more);
    auto lines = std::string{};
    for (auto i = 0; i < row_count; ++i)
      lines += R"({"id":"r)" + std::to_string(i) +
               R"(","messages":[{"role":"user","content":"well?"}]})" + '\n';
    write("in.jsonl", lines);
  }
  [[nodiscard]] json::object summary() const { return job_summary(*this); }
  [[nodiscard]] bool has_dead_letters() const {
    return std::filesystem::exists(folder / "out.dead.jsonl");
  }
};

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

constexpr auto wrong_key =
    "401 Unauthorized\n"
    R"({"error":{"message":"Incorrect API key provided","code":"invalid_api_key"}})";

} // namespace

/// Whether a process has a handler for SIGTERM.
bool handles_sigterm(const process& of) {
  auto status = std::ifstream{"/proc/" + std::to_string(of.id()) + "/status"};
  for (auto line = std::string{}; std::getline(status, line);)
    if (line.starts_with("SigCgt:"))
      return (std::stoull(line.substr(7), nullptr, 16) >> (SIGTERM - 1) & 1U) != 0;
  return false;
}

BOOST_AUTO_TEST_CASE(signal_ends_job_that_waits_for_standard_input) {
  auto job = stopped_job{"http://127.0.0.1:1/v1"};
  job.input = "-";
  auto running = process{job.arguments(), child_input::held_open};
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds{30};
  while (!handles_sigterm(running) && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
  running.send(SIGTERM);
  BOOST_REQUIRE(running.wait_for(std::chrono::seconds{30}));
  const auto ended = running.wait();
  BOOST_TEST(ended.exit_code == 3);
  BOOST_TEST(ended.err.find("no rows") == std::string::npos, ended.err);
}

BOOST_AUTO_TEST_CASE(wrong_key_stops_job_before_100_rows) {
  auto fickle = fickle_server{};
  auto is_key_wrong = std::atomic<bool>{true};
  fickle.refusal = [&](int) { return std::string{is_key_wrong ? wrong_key : ""}; };
  const auto job = stopped_job{fickle.server.address()};
  const auto end = job.run();
  BOOST_TEST(end.exit_code == 3, end.err);
  BOOST_TEST(has(end.out, "Incorrect API key provided"), end.out);
  BOOST_TEST(has(end.out, "--fail-if none"), end.out);
  BOOST_TEST(fickle.refused < 100);
  BOOST_TEST(job.read("out.jsonl").empty());
  BOOST_TEST(!job.has_dead_letters());
  BOOST_TEST(text_at(job.summary(), "status") == "drained");
  BOOST_TEST(text_at(job.summary().at("stop").as_object(), "cause") == "fail_if");
  is_key_wrong = false;
  const auto resumed = job.run();
  BOOST_TEST(resumed.exit_code == 0, resumed.err);
  BOOST_TEST(read_rows(job.read("out.jsonl")).size() == std::size_t{row_count});
}

BOOST_AUTO_TEST_CASE(row_with_invalid_response_counts_tokens_and_cost) {
  auto fickle = fickle_server{};
  fickle.refusal = [](int) { return std::string{}; };
  const auto job = stopped_job{fickle.server.address(),
                               "response: {type: object, properties: {a: {type: string}}}\n"
                               "prices: {m: {input: 1, output: 2}}\n"};
  const auto end = job.run({"--limit", "1"});
  BOOST_TEST(end.exit_code == 2, end.err);
  BOOST_TEST(fickle.answered == 3);
  const auto rows = read_rows(job.read("out.jsonl"));
  BOOST_TEST_REQUIRE(rows.size() == 1U);
  const auto& row = rows.begin()->second;
  BOOST_TEST(text_at(row.at("error").as_object(), "code") == "invalid_response");
  const auto message = text_at(row.at("error").as_object(), "message");
  BOOST_TEST(message.starts_with("the model's structured response: "), message);
  BOOST_TEST(message.ends_with(" (after 3 answers)"), message); // the code is in `code`
  BOOST_TEST(text_at(row.at("error").as_object(), "node") == "agent");
  BOOST_TEST(text_at(row.at("error").as_object(), "answer") == "yes");
  BOOST_TEST(has(job.read("out.dead.jsonl"), R"("answer":"yes")"));
  BOOST_TEST(has(end.out, "failed: 1 (invalid_response 1); run them again with --retry-dead\n"),
             end.out);
  BOOST_TEST(row.at("model_calls").to_number<int>() == 3);
  BOOST_TEST(row.at("usage").as_object().at("total_tokens").to_number<int>() == 45);
  BOOST_TEST(row.at("cost").to_number<double>() == 3 * (10 * 1e-6 + 5 * 2e-6),
             boost::test_tools::tolerance(1e-9));
  BOOST_TEST(job.summary().at("model_calls").to_number<int>() == 3);
}

BOOST_AUTO_TEST_CASE(deadline_of_row_keeps_calls_and_tokens) {
  // The first row gets an answer that is not valid, and then none; the second row gets none.
  auto server = loopback_server{[](loopback_server::socket& socket, int number) {
    if (loopback_server::read_head(socket).empty())
      return;
    if (number == 0)
      return loopback_server::write(
          socket,
          loopback_server::answer(
              R"({"model":"m","choices":[{"message":{"role":"assistant","content":"yes"}}],)"
              R"("usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}})"));
    static_cast<void>(loopback_server::read_head(socket)); // until the client disconnects
  }};
  const auto job =
      stopped_job{server.address(), "response: {type: object, properties: {a: {type: string}}}\n"
                                    "prices: {m: {input: 1, output: 2}}\n"};
  const auto end = job.run({"--limit", "2", "--concurrency", "1", "--row-deadline-ms", "1000",
                            "--budget-tokens", "1000"});
  BOOST_TEST(end.exit_code == 2, end.err);
  const auto rows = read_rows(job.read("out.jsonl"));
  BOOST_TEST_REQUIRE(rows.size() == 2U);
  const auto& answered = rows.at("r0");
  BOOST_TEST(text_at(answered.at("error").as_object(), "code") == "timed_out");
  BOOST_TEST(answered.at("model_calls").to_number<int>() == 2);
  BOOST_TEST(answered.at("usage").as_object().at("total_tokens").to_number<int>() == 15);
  BOOST_TEST(answered.at("cost").to_number<double>() == 10 * 1e-6 + 5 * 2e-6,
             boost::test_tools::tolerance(1e-9));
  const auto& silent = rows.at("r1");
  BOOST_TEST(silent.at("model_calls").to_number<int>() == 1);
  BOOST_TEST(silent.at("cost").is_null());
  BOOST_TEST(job.summary().at("model_calls").to_number<int>() == 3);
  BOOST_TEST(job.summary().at("usage").as_object().at("total_tokens").to_number<int>() == 15);
  BOOST_TEST(job.summary().at("rows_without_cost").to_number<int>() == 1);
}

BOOST_AUTO_TEST_CASE(unreachable_server_stops_job_before_100_rows) {
  auto address = std::string{};
  {
    const auto gone = loopback_server{[](auto&, int) {}};
    address = gone.address(); // nothing listens there when the server is destroyed
  }
  const auto job = stopped_job{address};
  const auto end = job.run();
  BOOST_TEST(end.exit_code == 3, end.err);
  BOOST_TEST(has(end.out, "Connection refused"), end.out);
  BOOST_TEST(job.read("out.jsonl").empty());
  BOOST_TEST(!job.has_dead_letters());
}

BOOST_AUTO_TEST_CASE(interrupted_job_names_error_of_unreachable_server) {
  auto address = std::string{};
  {
    const auto gone = loopback_server{[](auto&, int) {}};
    address = gone.address();
  }
  auto job = cli_job{};
  job.write("agent.yaml", "name: asks\nmodel: {provider: openai, model: m, base_url: \"" + address +
                              "\", api_key_env: \"\", backoff_base_ms: 60000}\n");
  job.write("in.jsonl", "{\"id\":\"r\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}\n");
  auto child = process{{superstep_program(), "run", job.agent, "-i", job.input, "-o", job.output,
                        "--progress", "plain", "--drain-timeout", "1ms"}};
  BOOST_TEST(!child.wait_for(std::chrono::seconds{2}));
  child.send(SIGINT);
  const auto end = child.wait();
  BOOST_TEST(end.exit_code == 3, end.err);
  BOOST_TEST(has(end.out, "\nlast error: POST " + address), end.out);
  BOOST_TEST(has(end.out, "Connection refused\n"), end.out);
  BOOST_TEST(has(end.err, ", Connection refused, 0 in flight"), end.err);
  BOOST_TEST(has(end.err, "1 retry\n"), end.err);
  BOOST_TEST(has(text_at(job_summary(job), "last_error"), "Connection refused"));
}

BOOST_AUTO_TEST_CASE(cancelled_tool_calls_run_again_when_resumed) {
  auto job = cli_job{};
  const auto begun = job.folder / "begun";
  const auto gate = job.folder / "gate";
  job.write("agent.yaml", "name: looks\nmodel: {provider: scripted, path: model.yaml}\ntools:\n"
                          "- command: {name: look, description: Looks.,\n    argv: [/bin/sh, -c, "
                          "'echo >> " +
                              begun + "; while [ ! -e " + gate +
                              " ]; do sleep 0.02; done; echo value']}\n");
  job.write("model.yaml", "rules:\n- {type: human, calls: [{name: look, args: {}}]}\n"
                          "- {type: tool, text: 'saw \\0'}\n");
  job.write("in.jsonl", "{\"id\":\"r\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}\n");
  for (const auto* option : {"second signal", "--drain-timeout"}) {
    auto words = job.arguments({"--checkpoints"});
    if (std::string_view{option} == "--drain-timeout")
      words.insert(words.end(), {"--drain-timeout", "1ms"});
    std::filesystem::remove(begun);
    auto child = process{words};
    while (!std::filesystem::exists(begun) && !child.wait_for(std::chrono::milliseconds{5}))
      continue;
    child.send(SIGINT);
    if (!child.wait_for(std::chrono::milliseconds{200}))
      child.send(SIGINT);
    const auto stopped = child.wait();
    BOOST_TEST(stopped.exit_code == 3, stopped.err);
  }
  write_file(gate, "");
  const auto end = job.run({"--checkpoints"});
  BOOST_TEST(end.exit_code == 0, end.err);
  BOOST_TEST(has(job.read("out.jsonl"), "saw value"), job.read("out.jsonl"));
  BOOST_TEST(!has(job.read("out.jsonl"), "Error"), job.read("out.jsonl"));
}

BOOST_AUTO_TEST_CASE(refused_call_waits_and_is_repeated) {
  auto server = loopback_server{[](loopback_server::socket& socket, int number) {
    if (loopback_server::read_head(socket).empty())
      return;
    const auto body = std::string{
        number == 0
            ? R"({"error":{"message":"slow down","code":"rate_limit_exceeded"}})"
            : R"({"model":"m","choices":[{"message":{"role":"assistant","content":"y"}}]})"};
    loopback_server::write(
        socket, (number == 0 ? "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 3\r\n"
                             : "HTTP/1.1 200 OK\r\n") +
                    ("Content-Type: application/json\r\nConnection: close\r\nContent-Length: " +
                     std::to_string(body.size()) + "\r\n\r\n" + body));
  }};
  const auto job = stopped_job{server.address()};
  const auto end = process{
      {superstep_program(), "run", job.agent, "-i", job.input, "-o", job.output, "--limit", "1",
       "--progress",
       "json"}}.wait();
  BOOST_TEST_REQUIRE(end.exit_code == 0, end.out << end.err);
  const auto lines = read_objects(end.err);
  BOOST_TEST(std::ranges::any_of(lines,
                                 [](const json::object& line) {
                                   return text_at(line, "event") == "progress" &&
                                          line.at("calls_waiting").to_number<int>() == 1 &&
                                          line.at("calls_repeating").to_number<int>() == 1 &&
                                          has(text_at(line, "last_error"), "slow down");
                                 }),
             end.err);
  BOOST_TEST(lines.back().at("calls_waiting").to_number<int>() == 0);
}

constexpr auto no_quota =
    "429 Too Many Requests\n"
    R"({"error":{"message":"You exceeded your current quota","type":"insufficient_quota",)"
    R"("code":"insufficient_quota"}})";

BOOST_AUTO_TEST_CASE(empty_account_stops_job_before_100_rows) {
  auto fickle = fickle_server{};
  fickle.refusal = [](int) { return std::string{no_quota}; };
  const auto job = stopped_job{fickle.server.address()};
  const auto end = job.run();
  BOOST_TEST(end.exit_code == 3, end.err);
  BOOST_TEST(has(end.out, "You exceeded your current quota"), end.out);
  BOOST_TEST(fickle.refused < 100);
  BOOST_TEST(job.read("out.jsonl").empty());
  BOOST_TEST(!job.has_dead_letters());
  BOOST_TEST(text_at(job.summary().at("stop").as_object(), "cause") == "quota");
}

BOOST_AUTO_TEST_CASE(exhausted_quota_pauses_job_without_retries) {
  auto fickle = fickle_server{};
  // The quota ends after 100 calls and is available again after some further requests.
  fickle.refusal = [&](int) {
    return std::string{fickle.answered >= 100 && fickle.refused < 11 ? no_quota : ""};
  };
  const auto job = stopped_job{fickle.server.address()};
  const auto end = job.run({"--quota-wait", "20s", "--concurrency", "8"});
  BOOST_TEST(end.exit_code == 0, end.err);
  BOOST_TEST(has(end.err, "the job pauses"), end.err);
  BOOST_TEST(has(end.err, "the quota is available again"), end.err);
  BOOST_TEST(read_rows(job.read("out.jsonl")).size() == std::size_t{row_count});
  BOOST_TEST(fickle.answered == row_count);
  BOOST_TEST(!job.has_dead_letters());
}

BOOST_AUTO_TEST_CASE(durations_of_waits_are_checked) {
  auto fickle = fickle_server{};
  fickle.refusal = [](int) { return std::string{}; };
  const auto job = stopped_job{fickle.server.address()};
  for (const auto* duration : {"", "-1s", "1.5s", "5 m", "1d", "2000h", "s"}) {
    BOOST_TEST(job.run({"--quota-wait", duration}).exit_code == 1, duration);
    BOOST_TEST(job.run({"--drain-timeout", duration}).exit_code == 1, duration);
  }
  BOOST_TEST(job.run({"--quota-wait", "0", "--drain-timeout", "500ms"}).exit_code == 0);
}

BOOST_AUTO_TEST_CASE(budget_stops_job_within_rows_in_flight) {
  auto fickle = fickle_server{};
  fickle.refusal = [](int) { return std::string{}; };
  // A row has 10 input and 5 answer tokens: 0.01 + 0.01 dollars.
  const auto job =
      stopped_job{fickle.server.address(), "prices: {m: {input: 1000, output: 2000}}\n"};
  const auto end = job.run({"--budget-usd", "2", "--concurrency", "8"});
  BOOST_TEST(end.exit_code == 3, end.err);
  BOOST_TEST(has(end.out, "(--budget-usd)"), end.out);
  BOOST_TEST(fickle.answered >= 100);
  BOOST_TEST(fickle.answered <= 108);
  const auto rows = read_rows(job.read("out.jsonl"));
  BOOST_TEST(rows.size() == static_cast<std::size_t>(fickle.answered));
  BOOST_TEST(rows.begin()->second.at("cost").to_number<double>() == 0.02);
  BOOST_TEST(text_at(job.summary().at("stop").as_object(), "cause") == "budget");
  const auto cost = job.summary().at("cost").to_number<double>();
  BOOST_TEST(cost == 0.02 * fickle.answered, boost::test_tools::tolerance(1e-9));
  // The budget covers all runs of the job.
  const auto before = fickle.answered.load();
  BOOST_TEST(job.run({"--budget-usd", "2"}).exit_code == 3);
  BOOST_TEST(fickle.answered == before);
  const auto more = job.run({"--budget-usd", "3", "--concurrency", "8"});
  BOOST_TEST(more.exit_code == 3, more.err);
  BOOST_TEST(fickle.answered >= 150);
  BOOST_TEST(fickle.answered <= 158);
  const auto rest = job.run({"--budget-tokens", "1000000"});
  BOOST_TEST(rest.exit_code == 0, rest.err);
  BOOST_TEST(read_rows(job.read("out.jsonl")).size() == std::size_t{row_count});
}

BOOST_AUTO_TEST_CASE(budget_stops_job_of_server_without_usage) {
  auto fickle = fickle_server{};
  fickle.refusal = [](int) { return std::string{}; };
  fickle.reports_usage = false;
  const auto job =
      stopped_job{fickle.server.address(), "prices: {m: {input: 1000, output: 2000}}\n"};
  const auto end = job.run({"--budget-usd", "2", "--concurrency", "8"});
  BOOST_TEST(end.exit_code == 3, end.err);
  BOOST_TEST(has(end.out, "but --budget-usd needs them"), end.out);
  BOOST_TEST(fickle.answered <= 16);
  const auto free = job.run();
  BOOST_TEST(free.exit_code == 0, free.err);
  BOOST_TEST(has(free.err, "does not report the tokens of its answers"), free.err);
  BOOST_TEST(job.summary().at("cost").is_null());
  for (const auto& [key, row] : read_rows(job.read("out.jsonl")))
    BOOST_TEST(row.at("cost").is_null(), key);
}

BOOST_AUTO_TEST_CASE(budget_without_known_price_is_rejected) {
  auto fickle = fickle_server{};
  fickle.refusal = [](int) { return std::string{}; };
  const auto job = stopped_job{fickle.server.address()};
  const auto end = job.run({"--budget-usd", "2"});
  BOOST_TEST(end.exit_code == 1);
  BOOST_TEST(has(end.err, "the price of the model 'm' is not known"), end.err);
  BOOST_TEST(fickle.answered == 0);
  for (const auto* amount : {"0", "-1", "two", "1e3", "nan", ""})
    BOOST_TEST(job.run({"--budget-usd", amount}).exit_code == 1, amount);
  // Without a budget, the unknown price is only reported.
  const auto unknown = job.run();
  BOOST_TEST(unknown.exit_code == 0, unknown.err);
  BOOST_TEST(has(unknown.err, "costs are not computed"), unknown.err);
  BOOST_TEST(job.summary().at("cost").is_null());
  // A price file makes it known.
  job.write("prices.json", R"({"models": {"m": {"input": 1, "output": 1}}})");
  const auto known = job.run({"--fresh", "--prices", job.folder / "prices.json"});
  BOOST_TEST(known.exit_code == 0, known.err);
  BOOST_TEST(!has(known.err, "costs are not computed"), known.err);
  BOOST_TEST(job.summary().at("cost").to_number<double>() > 0);
  job.write("prices.json", R"({"m": {"input": 1}})");
  BOOST_TEST(has(job.run({"--prices", job.folder / "prices.json"}).err, "m.output: is missing"));
}

BOOST_AUTO_TEST_CASE(parameters_of_model_are_checked_and_priced) {
  auto fickle = fickle_server{};
  fickle.refusal = [](int) { return std::string{}; };
  const auto job =
      stopped_job{fickle.server.address(),
                  "prices: {m: {input: 1, output: 2}, dear: {input: 100, output: 200}}\n"};
  const auto end = job.run({"--limit", "1", "--set", "model.parameters.model=dear"});
  BOOST_TEST(end.exit_code == 0, end.err);
  BOOST_TEST(job.summary().at("cost").to_number<double>() == 10 * 100e-6 + 5 * 200e-6,
             boost::test_tools::tolerance(1e-9));
  const auto unknown =
      job.run({"--fresh", "--budget-usd", "1", "--set", "model.parameters.model=x"});
  BOOST_TEST(unknown.exit_code == 1);
  BOOST_TEST(has(unknown.err, "the price of the model 'x' is not known"), unknown.err);
  const auto wrong = job.run({"--fresh", "--set", "model.parameters.n=2"});
  BOOST_TEST(wrong.exit_code == 1);
  BOOST_TEST(has(wrong.err, "--set: model.parameters: 'n' cannot be set; remove it"), wrong.err);
}

BOOST_AUTO_TEST_CASE(dollar_budget_of_unnamed_model_is_rejected) {
  const auto job = stopped_job{"http://127.0.0.1:1/v1"};
  job.write("rules.yaml", "default: {text: well}\n");
  job.write("agent.yaml", "model: {provider: scripted, path: rules.yaml}\n");
  const auto end = job.run({"--budget-usd", "2"});
  BOOST_TEST(end.exit_code == 1);
  BOOST_TEST(has(end.err, "the model has no name, so its price is not known; use --budget-tokens"),
             end.err);
  BOOST_TEST(job.run({"--budget-tokens", "1000"}).exit_code == 0);
}

BOOST_AUTO_TEST_CASE(disabled_rule_runs_all_rows) {
  auto fickle = fickle_server{};
  fickle.refusal = [&](int) { return std::string{wrong_key}; };
  const auto job = stopped_job{fickle.server.address()};
  const auto end = job.run({"--fail-if", "none"});
  BOOST_TEST(end.exit_code == 2, end.err);
  BOOST_TEST(fickle.refused == row_count);
  BOOST_TEST(job.run({"--fail-if", "sometimes"}).exit_code == 1);
}

BOOST_AUTO_TEST_SUITE_END()
