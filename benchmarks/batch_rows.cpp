// SPDX-License-Identifier: Apache-2.0
// A batch job, as `superstep run` executes it: reads rows of a file, runs an agent with recorded
// answers for each of them, and writes output and journal. The rows have the size of word problems,
// and each needs three calculator calls.
#include "cli/agent_runner.hpp"
#include "workloads.hpp"

#include <superstep/agents/agent_file.hpp>
#include <superstep/batch/batch.hpp>

#include <filesystem>
#include <fstream>
#include <ostream>
#include <stdexcept>
#include <string>

#include <unistd.h>

namespace superstep::bench {

namespace {

constexpr auto calls_per_row = std::int64_t{3};
constexpr auto agent_text =
    std::string_view{"name: math\n"
                     "model: {provider: recorded, path: turns.jsonl}\n"
                     "prompt: You solve word problems. Use the calculator for every step.\n"
                     "tools: [calculator]\n"};

/// A folder with the files of a job, which is deleted at the end.
class job_folder {
public:
  job_folder(const std::string& parent, std::int64_t rows)
      : path_{std::filesystem::path{parent} / ("batch-" + std::to_string(::getpid()))} {
    std::filesystem::create_directories(path_);
    auto input = std::ofstream{file("in.jsonl")};
    auto turns = std::ofstream{file("turns.jsonl")};
    for (auto i = std::int64_t{0}; i < rows; ++i) {
      input << to_text(row(i)) << '\n';
      turns << to_text(turns_of(i)) << '\n';
    }
    if (!input.flush() || !turns.flush())
      throw std::runtime_error{"cannot write the files of the job in " + path_.string()};
  }
  job_folder(const job_folder&) = delete;
  job_folder& operator=(const job_folder&) = delete;
  ~job_folder() {
    auto ignored = std::error_code{};
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }
  [[nodiscard]] std::string path() const { return path_.string(); }

private:
  static std::string id_of(std::int64_t i) { return "row-" + std::to_string(i); }

  static json::object row(std::int64_t i) {
    const auto n = std::to_string(i);
    auto question = "A shop sold " + n +
                    " clips in April to its customers, and half as many clips in May. In June it "
                    "sold 12 more clips than in May, of which 5 were returned. How many clips did "
                    "the shop sell altogether from April to June, if returned clips do not count?";
    return {{"id", id_of(i)},
            {"messages", json::array{json::object{{"role", "user"}, {"content", question}}}}};
  }
  static json::object turn(std::int64_t number, const std::string& text,
                           const std::string& expression) {
    auto call = json::object{
        {"id", "call_" + std::to_string(number)},
        {"type", "function"},
        {"function",
         json::object{{"name", "calculator"},
                      {"arguments", to_text(json::object{{"expression", expression}})}}}};
    return {{"role", "assistant"},
            {"content", text},
            {"tool_calls", json::array{std::move(call)}},
            {"usage", json::object{{"prompt_tokens", 180}, {"completion_tokens", 40}}}};
  }
  static json::object turns_of(std::int64_t i) {
    const auto n = std::to_string(i);
    auto turns = json::array{turn(0, "First, the clips that were sold in May.", n + " / 2"),
                             turn(1, "Then the clips that were sold in June.", n + " / 2 + 12 - 5"),
                             turn(2, "At last, the sum.", n + " + " + n + " / 2 + 7")};
    static_assert(calls_per_row == 3);
    turns.push_back(
        json::object{{"role", "assistant"},
                     {"content", "The shop sold the clips of three months. The answer is " + n},
                     {"usage", json::object{{"prompt_tokens", 240}, {"completion_tokens", 20}}}});
    return {{"custom_id", id_of(i)}, {"turns", std::move(turns)}};
  }

  std::filesystem::path path_;
};

agent make_math_agent(const job_folder& job, const std::shared_ptr<io_runtime>& io) {
  auto built = build_agent(read_agent_text(agent_text, "agent.yaml", job.path()), io);
  if (!built.agent)
    throw std::runtime_error{to_text(built.faults)};
  return std::move(*built.agent);
}

} // namespace

report batch_rows(parameters& p) {
  const auto rows = p.integer("R", 2'000, {.min = 1, .max = 10'000'000});
  const auto in_flight_max = p.count("conc", 64, {.min = 1, .max = 1'000'000});
  const auto folder = p.text("dir", ".");
  const auto repetitions = p.repetitions();
  const auto options = p.engine();
  p.done();
  const auto job = job_folder{folder, rows};
  const auto io = std::make_shared<io_runtime>();
  const auto math = make_math_agent(job, io);
  auto e = engine{options};
  auto how = batch_options{};
  how.input = job.file("in.jsonl");
  how.concurrency = in_flight_max;
  const auto never = stop_request{};
  auto jobs = 0;
  const auto run = [&] { // the files of all jobs are deleted after the measurement
    how.output = job.file("out-" + std::to_string(++jobs) + ".jsonl");
    auto runner = cli::agent_runner{math, e};
    auto nowhere = std::ostream{nullptr};
    const auto progress = make_progress_sink(progress_mode::none, nowhere);
    auto ended = run_batch(how, runner, *progress, never);
    if (!ended)
      throw std::runtime_error{ended.error().text};
    return *std::move(ended);
  };
  how.limit = 1;
  static_cast<void>(run());
  how.limit.reset();

  auto out = report{.unit = "row", .units = static_cast<double>(rows)};
  out.time = measure(repetitions, [&] {
    auto ended = run();
    out.checks = {{"ok", ended.ok}, {"tool_calls", ended.tool_calls}};
    expect(static_cast<std::int64_t>(ended.ok) == rows &&
               static_cast<std::int64_t>(ended.tool_calls) == rows * calls_per_row,
           to_text(ended));
    return ended;
  });
  out.extra["rows_per_s"] = out.units / out.time.seconds;
  out.extra["cpu_us_per_row"] = out.time.cpu_min * 1e6 / out.units;
  return out;
}

} // namespace superstep::bench
