// SPDX-License-Identifier: Apache-2.0
// Output files of OpenAI's Batch API and of vLLM's run-batch, whose failed rows --retry-dead runs.
#include "job_fixture.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(adopt)

namespace {

using namespace superstep;
using namespace superstep::testing;

std::string request(std::string_view key) {
  return R"({"custom_id":")" + std::string{key} +
         R"(","method":"POST","url":"/v1/chat/completions","body":{"messages":)"
         R"([{"role":"user","content":"hi"}]}})"
         "\n";
}

std::string answered(std::string_view key) {
  return R"({"id":"vllm-1","custom_id":")" + std::string{key} +
         R"(","response":{"status_code":200,"request_id":"r","body":{"choices":[{"index":0,)"
         R"("message":{"role":"assistant","content":"old"}}],"usage":{"prompt_tokens":7,)"
         R"("completion_tokens":1,"total_tokens":8}}},"error":null})"
         "\n";
}

/// One failed row in each form in which OpenAI and vLLM write errors.
const auto failed_lines = std::map<std::string, std::string>{
    {"openai-none", R"("response":null,"error":{"code":"batch_expired","message":"late"}})"},
    {"openai-http", R"("response":{"status_code":429,"request_id":"r","body":{"error":)"
                    R"({"message":"slow down","type":"requests","code":"429"}}},"error":null})"},
    {"vllm-text", R"("response":{"status_code":400,"request_id":"r","body":null},)"
                  R"("error":"unsupported url"})"},
    {"vllm-object", R"("response":{"status_code":400,"request_id":"r","body":null},)"
                    R"("error":{"message":"too long","code":400}})"},
};

std::string failed(const std::string& key) {
  return R"({"id":"x","custom_id":")" + key + "\"," + failed_lines.at(key) + '\n';
}

/// A job whose output another program wrote: two answers, and a row for each form of an error. The
/// row `missing` is only in the input.
std::unique_ptr<testing::job> foreign_job() {
  auto input = request("a") + request("missing");
  auto output = answered("a");
  for (const auto& [key, line] : failed_lines) {
    input += request(key);
    output += failed(key);
  }
  auto job = std::make_unique<testing::job>(input + request("b"));
  write_file(job->folder / "out.jsonl", output + answered("b"));
  return job;
}

} // namespace

BOOST_AUTO_TEST_CASE(failed_rows_of_other_programs_run_again) {
  const auto job = foreign_job();
  const auto original = job->file("out.jsonl");
  job->options.retry_dead = true;
  auto summary = job->run();
  BOOST_REQUIRE_MESSAGE(summary.has_value(), summary.error().text);
  BOOST_TEST(summary->ok == failed_lines.size() + 3);
  BOOST_TEST(summary->left() == 0U);
  BOOST_TEST(summary->input_tokens >= 14);
  BOOST_TEST(job->runner.runs.size() == failed_lines.size() + 1);
  BOOST_TEST(job->runner.runs.count("a") == 0U);
  const auto rows = job->output();
  BOOST_TEST(rows.size() == failed_lines.size() + 3);
  for (const auto& [key, row] : rows)
    BOOST_TEST(row.at("error").is_null(), key);
  BOOST_TEST(job->file("out.jsonl").starts_with(answered("a") + answered("b")));
  BOOST_TEST(job->file("out.jsonl.old-1") == original);
  job->runner.runs.clear();
  BOOST_TEST(job->run().has_value());
  BOOST_TEST(job->runner.runs.empty());
}

BOOST_AUTO_TEST_CASE(answer_without_final_newline_is_not_run_again) {
  const auto line = answered("a");
  for (const auto& before : {std::string{}, failed("vllm-text")}) {
    auto job = testing::job{request("vllm-text") + request("a")};
    const auto original = before + line.substr(0, line.size() - 1);
    write_file(job.folder / "out.jsonl", original);
    job.options.retry_dead = true;
    const auto summary = job.run();
    BOOST_REQUIRE_MESSAGE(summary.has_value(), summary.error().text);
    BOOST_TEST(summary->ok == 2U);
    BOOST_TEST(job.runner.runs.size() == 1U);
    BOOST_TEST(job.runner.runs.count("vllm-text") == 1U);
    BOOST_TEST(job.file("out.jsonl").starts_with(line));
    BOOST_TEST(job.file("out.jsonl.old-1") == original);
  }
}

BOOST_AUTO_TEST_CASE(incomplete_last_line_of_other_program_runs_again) {
  auto job = testing::job{request("a") + request("b")};
  const auto line = answered("b");
  write_file(job.folder / "out.jsonl", answered("a") + line.substr(0, line.size() / 2));
  job.options.retry_dead = true;
  BOOST_TEST(job.run().value().ok == 2U);
  BOOST_TEST(job.runner.runs.size() == 1U);
  BOOST_TEST(job.runner.runs.count("b") == 1U);
}

BOOST_AUTO_TEST_CASE(byte_order_mark_and_blank_lines_are_skipped) {
  auto job = testing::job{request("a") + request("b") + request("c")};
  write_file(job.folder / "out.jsonl",
             "\xEF\xBB\xBF" + answered("a") + "\r\n \t\n" + answered("b") + "  ");
  job.options.retry_dead = true;
  const auto summary = job.run();
  BOOST_REQUIRE_MESSAGE(summary.has_value(), summary.error().text);
  BOOST_TEST(job.runner.runs.size() == 1U);
  BOOST_TEST(job.runner.runs.count("c") == 1U);
  BOOST_TEST(job.file("out.jsonl").starts_with(answered("a") + answered("b")));
  BOOST_TEST(!std::filesystem::exists(job.folder / "out.jsonl.damaged-1"));
  job.runner.runs.clear();
  BOOST_TEST(job.run().value().ok == 3U);
  BOOST_TEST(job.runner.runs.empty());
}

BOOST_AUTO_TEST_CASE(byte_order_mark_alone_shifts_no_line) {
  auto job = testing::job{request("a") + request("b")};
  write_file(job.folder / "out.jsonl", "\xEF\xBB\xBF" + answered("a"));
  job.options.retry_dead = true;
  BOOST_TEST(job.run().value().ok == 2U);
  BOOST_TEST(job.file("out.jsonl").starts_with(answered("a")));
  BOOST_TEST(job.output().size() == 2U);
  job.runner.runs.clear();
  BOOST_TEST(job.run().value().ok == 2U);
  BOOST_TEST(job.runner.runs.empty());
}

BOOST_AUTO_TEST_CASE(other_output_is_rejected_without_retry_dead) {
  const auto job = foreign_job();
  const auto original = job->file("out.jsonl");
  auto refused = job->run();
  BOOST_REQUIRE(!refused.has_value());
  BOOST_TEST(refused.error().text.find("--retry-dead") != std::string::npos, refused.error().text);
  BOOST_TEST(job->file("out.jsonl") == original);
  BOOST_TEST(!std::filesystem::exists(job->folder / "out.journal"));
}

BOOST_AUTO_TEST_CASE(retry_dead_rejects_files_without_answers) {
  for (const auto* text : {"my notes\n", "{\"id\":\"a\"}\n", "{\"custom_id\":\"a\"}\n", "{\n"}) {
    auto job = testing::job{request("a")};
    write_file(job.folder / "out.jsonl", text);
    job.options.retry_dead = true;
    BOOST_TEST(!job.run().has_value(), text);
    BOOST_TEST(job.file("out.jsonl") == text);
  }
}

BOOST_AUTO_TEST_SUITE_END()
