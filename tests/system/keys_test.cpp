// SPDX-License-Identifier: Apache-2.0
// An API key in the environment and a server that repeats it wherever it can: no file that a job
// writes may contain the key. And the verbs that need no key.
#include "models/loopback_server.hpp"
#include "process.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <filesystem>

BOOST_AUTO_TEST_SUITE(keys)

namespace {

using namespace superstep::testing;
using superstep::test::loopback_server;

constexpr auto secret = "sk-planted-3f9a1c";

std::string with_length(const std::string& head, const std::string& body) {
  return head + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

/// Answers in turn with a good answer, a rejection, a failure and a truncated stream. Each contains
/// the key, also in a header.
void repeat_the_key(loopback_server::socket& socket, int number) {
  if (loopback_server::read_head(socket).find(secret) == std::string::npos)
    return;
  const auto said = std::string{"your key is "} + secret;
  const auto fault = R"({"error":{"message":")" + said + "\"}}";
  const auto more = "X-Echo: " + said + "\r\nConnection: close\r\n";
  const auto json_head = more + "Content-Type: application/json\r\n";
  switch (number % 4) {
  case 0:
    loopback_server::write(
        socket,
        with_length("HTTP/1.1 200 OK\r\n" + json_head,
                    R"({"choices":[{"message":{"role":"assistant","content":")" + said + "\"}}]}"));
    break;
  case 1:
    loopback_server::write(socket, with_length("HTTP/1.1 401 No\r\n" + json_head, fault));
    break;
  case 2:
    loopback_server::write(socket, with_length("HTTP/1.1 500 Oops\r\n" + json_head, said));
    break;
  default:
    loopback_server::write(
        socket, with_length("HTTP/1.1 200 OK\r\n" + more + "Content-Type: text/event-stream\r\n",
                            "data: " + fault + "\n\n"));
  }
}

/// Returns the files below a folder that contain the text.
std::string files_with(const std::string& folder, std::string_view text) {
  auto out = std::string{};
  for (const auto& entry : std::filesystem::recursive_directory_iterator{folder})
    if (entry.is_regular_file() && read_file(entry.path()).find(text) != std::string::npos)
      out += entry.path().filename().string() + ' ';
  return out;
}

} // namespace

BOOST_AUTO_TEST_CASE(api_key_appears_only_in_answer_content) {
  auto server = loopback_server{repeat_the_key};
  ::setenv("SUPERSTEP_PLANTED_KEY", secret, 1);
  auto job = cli_job{};
  job.write("agent.yaml", "name: asks\nmodel: {provider: openai, model: m, base_url: \"" +
                              server.address() +
                              "\", api_key_env: SUPERSTEP_PLANTED_KEY, attempts_max: 2, "
                              "backoff_base_ms: 1, record: answers.jsonl}\n");
  auto input = std::string{};
  for (auto i = 0; i < 40; ++i)
    input += R"({"id":"r)" + std::to_string(i) +
             R"(","messages":[{"role":"user","content":"which key?"}]})" + '\n';
  job.write("in.jsonl", input);
  const auto end = job.run();
  ::unsetenv("SUPERSTEP_PLANTED_KEY");
  BOOST_TEST(end.exit_code == 2, end.err); // some rows failed
  // Proves that the test can fail: the text next to the key was written.
  BOOST_TEST(job.read("answers.jsonl").find("your key is ***") != std::string::npos);
  BOOST_TEST(job.read("out.jsonl").find("your key is ***") != std::string::npos);
  const auto folder = std::filesystem::path{job.output}.parent_path().string();
  // The content of answers is never changed.
  BOOST_TEST(files_with(folder, secret) == "out.jsonl ");
  for (const auto& [key, row] : read_rows(job.read("out.jsonl")))
    BOOST_TEST(
        (text_at(row, "status") == "ok" || json::serialize(row).find(secret) == std::string::npos));
  BOOST_TEST((end.out + end.err).find(secret) == std::string::npos);
}

BOOST_AUTO_TEST_CASE(verbs_that_send_no_requests_need_no_key) {
  ::unsetenv("SUPERSTEP_PLANTED_KEY");
  auto job = cli_job{};
  job.write("expert.yaml", "name: expert\nmodel: {provider: openai, api: chat, model: m, "
                           "api_key_env: SUPERSTEP_PLANTED_KEY}\n");
  job.write("agent.yaml", "name: asks\nmodel: {provider: openai, api: chat, model: m, "
                          "api_key_env: SUPERSTEP_PLANTED_KEY, headers_env: {X-Team: "
                          "SUPERSTEP_PLANTED_KEY}, record: answers.jsonl}\n"
                          "cache: {path: cache.db}\n");
  job.write("team.yaml", "name: team\nmodel: {provider: openai, model: m, api_key_env: "
                         "SUPERSTEP_PLANTED_KEY}\ntools: [agent: {name: expert, file: "
                         "expert.yaml, description: knows}]\n");
  job.write("in.jsonl", R"({"id":"a","messages":[{"role":"user","content":"hi"}]})"
                        "\n");
  job.write("answers.txt", R"({"custom_id":"a","response":{"status_code":200,"body":{"choices":)"
                           R"([{"message":{"role":"assistant","content":"hello"}}]}}})"
                           "\n");
  const auto ended = [&](const std::string& command) {
    auto child = process{
        {"sh", "-c", "cd '" + job.folder / "." + "' && '" + superstep_program() + "' " + command}};
    return child.wait();
  };
  const auto drawn = ended("graph team.yaml --expand");
  BOOST_TEST(drawn.exit_code == 0, drawn.err);
  BOOST_TEST(drawn.out.find("expert") != std::string::npos);
  const auto written = ended("batch-api export agent.yaml -i in.jsonl -o requests.jsonl");
  BOOST_TEST(written.exit_code == 0, written.err);
  const auto read = ended("batch-api import agent.yaml -i in.jsonl -o out.jsonl -a answers.txt");
  BOOST_TEST(read.exit_code == 0, read.err);
  for (const auto* name : {"answers.jsonl", "cache.db"})
    BOOST_TEST(!std::filesystem::exists(job.folder / name), name);
  // no server listens at port 1
  const auto submitted =
      ended("submit agent.yaml -i in.jsonl --job j --ledger postgresql://127.0.0.1:1/jobs");
  BOOST_TEST(submitted.err.find("127.0.0.1") != std::string::npos, submitted.err);
  BOOST_TEST(submitted.err.find("SUPERSTEP_PLANTED_KEY") == std::string::npos, submitted.err);
  const auto refused = ended("run agent.yaml -i in.jsonl -o other.jsonl");
  BOOST_TEST(refused.exit_code == 1);
  BOOST_TEST(refused.err.find("SUPERSTEP_PLANTED_KEY") != std::string::npos, refused.err);
}

BOOST_AUTO_TEST_CASE(check_warns_of_missing_key_and_reports_errors) {
  ::unsetenv("SUPERSTEP_PLANTED_KEY");
  auto job = cli_job{};
  const auto model = std::string{"model: {provider: openai, api: chat, model: m, api_key_env: "
                                 "SUPERSTEP_PLANTED_KEY, headers_env: {X-Team: "
                                 "SUPERSTEP_PLANTED_TEAM}}\n"};
  job.write("agent.yaml", "name: asks\n" + model);
  job.write("wrong.yaml", "name: asks\n" + model + "early_tools: [nothing]\n");
  job.write("in.jsonl", R"({"id":"a","messages":[{"role":"user","content":"hi"}]})"
                        "\n");
  const auto path = [&](const char* name) { return job.folder / name; };
  auto child = process{{superstep_program(), "check", path("agent.yaml"), "-i", path("in.jsonl")}};
  const auto valid = child.wait();
  BOOST_TEST(valid.exit_code == 0);
  BOOST_TEST(valid.out.find("agent.yaml: ok") != std::string::npos, valid.out);
  for (const auto* variable : {"SUPERSTEP_PLANTED_KEY", "SUPERSTEP_PLANTED_TEAM"})
    BOOST_TEST(valid.err.find(variable) != std::string::npos, valid.err);
  BOOST_TEST(valid.err.starts_with("warning: " + path("agent.yaml") + ":2: model: "), valid.err);
  auto other = process{{superstep_program(), "check", path("wrong.yaml")}};
  const auto wrong = other.wait();
  BOOST_TEST(wrong.exit_code == 1);
  BOOST_TEST(wrong.err.find("'nothing' is not a tool of this agent") != std::string::npos,
             wrong.err);
  BOOST_TEST(wrong.err.find("1 fault\n") != std::string::npos, wrong.err);
}

BOOST_AUTO_TEST_SUITE_END()
