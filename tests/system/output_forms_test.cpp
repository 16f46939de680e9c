// SPDX-License-Identifier: Apache-2.0
// Jobs of `superstep run` that write selected fields, CSV, or to standard output.
#include "process.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <filesystem>

#include <sys/stat.h>

BOOST_AUTO_TEST_SUITE(output_forms)

namespace {

using namespace superstep::testing;
namespace fs = std::filesystem;

constexpr auto rows = 300;

/// A job in which every third row fails, because the model has no rule for it.
struct small_job : cli_job {
  small_job() {
    write("agent.yaml", "name: labels\nmodel: {provider: scripted, path: rules.yaml}\n");
    write("rules.yaml", "rules:\n  - {match: 'good', text: 'yes, \"good\"'}\n");
    auto lines = std::string{};
    for (auto i = 0; i < rows; ++i) {
      auto messages =
          json::array{json::object{{"role", "user"}, {"content", i % 3 == 0 ? "unknown" : "good"}}};
      lines += json::serialize(
                   json::object{{"id", std::to_string(i)}, {"messages", std::move(messages)}}) +
               '\n';
    }
    write("in.jsonl", lines);
  }
  [[nodiscard]] ended_process shell(const std::string& options,
                                    const std::string& then = {}) const {
    auto child = process{{"sh", "-c",
                          "cd '" + folder / "." + "' && '" + superstep_program() +
                              "' run agent.yaml -i in.jsonl --progress none " + options + then}};
    return child.wait();
  }
  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator{fs::path{folder / "."}}, fs::directory_iterator{}));
  }
};

std::string expected_csv() {
  auto out = std::string{"\"id\",\"answer\"\n"};
  for (auto i = 0; i < rows; ++i)
    out += '"' + std::to_string(i) + "\"," + (i % 3 == 0 ? "" : "\"yes, \"\"good\"\"\"") + '\n';
  return out;
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

} // namespace

BOOST_AUTO_TEST_CASE(csv_file_has_fields_in_input_order) {
  const auto job = small_job{};
  const auto end = job.shell("-o out.csv --fields answer --order input");
  BOOST_TEST(end.exit_code == 2, end.err);
  BOOST_TEST(has(end.out, "output in out.csv, failed rows in out.dead.jsonl"), end.out);
  BOOST_TEST(job.read("out.csv") == expected_csv());
  const auto other = job.shell("-o out.csv --fields status --order input");
  BOOST_TEST(has(other.out, "nothing to do"), other.out);
  BOOST_TEST(job.read("out.csv").starts_with("\"id\",\"status\"\n\"0\",\"error\"\n\"1\",\"ok\"\n"));
}

BOOST_AUTO_TEST_CASE(standard_output_has_rows_and_no_files) {
  const auto job = small_job{};
  const auto before = job.files();
  const auto end = job.shell("-o - --fields answer --order input --output-format csv");
  BOOST_TEST(end.exit_code == 2, end.err);
  BOOST_TEST(end.out == expected_csv());
  BOOST_TEST(has(end.err, "300 rows: 200 ok, 100 failed"), end.err);
  const auto whole = job.shell("-o -");
  BOOST_TEST(whole.exit_code == 2, whole.err);
  const auto lines = read_rows(whole.out);
  BOOST_TEST(lines.size() == std::size_t{rows});
  BOOST_TEST(text_at(lines.at("1"), "status") == "ok");
  BOOST_TEST(text_at(lines.at("0").at("error").as_object(), "code") == "bad_answer");
  BOOST_TEST(job.files() == before);
}

BOOST_AUTO_TEST_CASE(closed_standard_output_stops_job) {
  const auto job = small_job{};
  const auto end = job.shell("-o - --concurrency 1", " 2>err | head -n 1");
  BOOST_TEST(std::ranges::count(end.out, '\n') == 1);
  BOOST_TEST_REQUIRE(::mkfifo((job.folder / "pipe").c_str(), 0600) == 0);
  const auto unread = job.shell("-o - 2>err", " 4<>pipe >pipe 4>&-"); // the pipe has no reader
  BOOST_TEST(unread.exit_code == 141, job.read("err"));
  BOOST_TEST(
      has(job.read("err"), "the reader of standard output has ended, so the job has stopped"),
      job.read("err"));
  const auto full = job.shell("-o - --concurrency 1 2>err", " >/dev/full");
  BOOST_TEST(full.exit_code == 4, job.read("err"));
  BOOST_TEST(has(job.read("err"), "cannot write standard output"), job.read("err"));
}

BOOST_AUTO_TEST_CASE(standard_output_rejects_options_of_resumed_jobs) {
  const auto job = small_job{};
  for (const auto* option : {"--fresh", "--force", "--retry-dead", "--checkpoints"}) {
    const auto end = job.shell(std::string{"-o - "} + option);
    BOOST_TEST(end.exit_code == 1, option);
    BOOST_TEST(has(end.err, "standard output"), end.err);
    BOOST_TEST(end.out.empty());
  }
}

BOOST_AUTO_TEST_CASE(invalid_output_options_are_usage_errors) {
  const auto job = small_job{};
  const auto before = job.files();
  for (const auto* options : {"-o out.csv --fields answr", "-o out.csv --fields answer,answer",
                              "-o out.csv --fields response", "-o out.csv --fields ''",
                              "-o out.csv --output-format xml", "-o out.csv --order random"}) {
    const auto end = job.shell(options);
    BOOST_TEST(end.exit_code == 1, options << end.err);
    BOOST_TEST(!end.err.empty());
  }
  BOOST_TEST(job.files() == before);
}

BOOST_AUTO_TEST_CASE(rows_file_is_not_an_input_or_event_log) {
  const auto job = small_job{};
  const auto input = job.read("in.jsonl");
  fs::rename(job.folder / "in.jsonl", job.folder / "out.rows.jsonl");
  fs::create_hard_link(job.folder / "out.rows.jsonl", job.folder / "in.jsonl");
  const auto end = job.shell("-o out.csv");
  BOOST_TEST(end.exit_code == 1, end.err);
  BOOST_TEST(job.read("in.jsonl") == input);
  const auto events = job.shell("-o other.csv --events other.rows.jsonl");
  BOOST_TEST(events.exit_code == 1, events.err);
}

BOOST_AUTO_TEST_CASE(model_calls_exclude_answers_of_input) {
  const auto job = cli_job{};
  job.write("agent.yaml", "model: {provider: scripted, path: rules.yaml}\ntools: [calculator]\n");
  job.write("rules.yaml",
            "rules:\n"
            "  - {type: human, calls: [{name: calculator, args: {expression: 1+1}}]}\n"
            "  - {type: tool, text: done}\n");
  job.write("in.jsonl", R"({"id":"r","messages":[{"role":"user","content":"a"},)"
                        R"({"role":"assistant","content":"b"},{"role":"user","content":"c"}]})"
                        "\n");
  const auto runs = std::vector<std::vector<std::string>>{
      {}, {"--fresh", "--checkpoints"}, {"--fresh", "--row-deadline-ms", "60000"}};
  for (const auto& options : runs) {
    const auto end = job.run(options);
    BOOST_TEST(end.exit_code == 0, end.err);
    const auto row = read_rows(job.read("out.jsonl")).at("r");
    BOOST_TEST(row.at("model_calls").as_int64() == 2);
    BOOST_TEST(row.at("tool_calls").as_int64() == 1);
  }
  // A row that fails after its first call: the failed call counts, the answer in the input does
  // not.
  job.write("rules.yaml",
            "rules:\n"
            "  - {type: human, calls: [{name: calculator, args: {expression: 1+1}}]}\n");
  const auto end = job.run({"--fresh"});
  BOOST_TEST(end.exit_code == 2, end.err);
  BOOST_TEST(read_rows(job.read("out.jsonl")).at("r").at("model_calls").as_int64() == 2);
}

BOOST_AUTO_TEST_SUITE_END()
