// SPDX-License-Identifier: Apache-2.0
// Servers with invalid answers and models that never stop calling tools, in a batch with good rows.
#include "models/loopback_server.hpp"
#include "process.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>

BOOST_AUTO_TEST_SUITE(bad_answers)

namespace {

using namespace superstep::testing;
using superstep::test::loopback_server;

/// The server's answer to a row, and the expected outcome of the row. The key of a row is also its
/// question.
struct nonsense {
  std::string body;
  std::string_view error; ///< part of the row's error; empty if the row succeeds
  std::string_view type = "application/json";
};
const auto answers = std::map<std::string, nonsense>{
    {"fine", {R"({"choices":[{"message":{"role":"assistant","content":"Fine."}}]})", ""}},
    {"cut-short", {R"({"choices":[{"message":{"role":"assist)", "the answer is not valid JSON"}},
    {"a-page", {"<html><body>It works!</body></html>", "the answer is not valid JSON"}},
    {"nothing", {"", "the answer is empty"}},
    {"a-list", {"[1,2,3]", "not a JSON object"}},
    {"no-choices", {R"({"id":"x"})", "choices"}},
    {"empty-choices", {R"({"choices":[]})", "choices"}},
    {"no-message", {R"({"choices":[{"index":0}]})", "message"}},
    {"a-number", {R"({"choices":[{"message":{"role":"assistant","content":42}}]})", "content"}},
    {"deep", {std::string(200'000, '['), "the answer is not valid JSON"}},
    {"events", {"data: {\"choices\": nonsense}\n\n", "(tried", "text/event-stream"}},
};

std::string whole_request(loopback_server::socket& from) {
  auto text = std::string{};
  auto failed = boost::system::error_code{};
  auto bytes = boost::asio::dynamic_buffer(text);
  const auto head = boost::asio::read_until(from, bytes, "\r\n\r\n", failed);
  if (failed)
    return {};
  constexpr auto field = std::string_view{"content-length: "};
  const auto found = std::search(text.begin(), text.end(), field.begin(), field.end(),
                                 [](char a, char b) { return std::tolower(a) == b; });
  if (found == text.end())
    return {};
  const auto size = std::stoul(std::string{found + std::ssize(field), text.end()});
  if (text.size() < head + size)
    boost::asio::read(from, bytes, boost::asio::transfer_exactly(head + size - text.size()),
                      failed);
  return failed ? std::string{} : text.substr(head);
}

void answer_nonsense(loopback_server::socket& socket, int) {
  for (auto body = whole_request(socket); !body.empty(); body = whole_request(socket)) {
    const auto asked = json::parse(body).at("messages").as_array().back().at("content").as_string();
    const auto& said = answers.at(std::string{asked});
    loopback_server::write(socket, "HTTP/1.1 200 OK\r\nContent-Type: " + std::string{said.type} +
                                       "\r\nContent-Length: " + std::to_string(said.body.size()) +
                                       "\r\n\r\n" + said.body);
  }
}

/// Rejects every request.
void answer_unauthorized(loopback_server::socket& socket, int) {
  constexpr auto body = std::string_view{R"({"error":{"message":"wrong key"}})"};
  while (!whole_request(socket).empty())
    loopback_server::write(socket, "HTTP/1.1 401 Unauthorized\r\nContent-Type: application/json"
                                   "\r\nContent-Length: " +
                                       std::to_string(body.size()) + "\r\n\r\n" +
                                       std::string{body});
}

std::string row_line(const std::string& key, const std::string& text) {
  auto messages = json::array{json::object{{"role", "user"}, {"content", text}}};
  return json::serialize(json::object{{"id", key}, {"messages", std::move(messages)}}) + '\n';
}

std::string openai_agent(const std::string& url, bool stream) {
  auto model = json::object{{"provider", "openai"}, {"model", "m"},     {"base_url", url},
                            {"api_key_env", ""},    {"stream", stream}, {"attempts_max", 2},
                            {"backoff_base_ms", 1}};
  return json::serialize(json::object{{"name", "asks"}, {"model", std::move(model)}});
}

} // namespace

BOOST_DATA_TEST_CASE(invalid_answer_of_server_fails_only_its_row,
                     boost::unit_test::data::make({false, true}), stream) {
  auto server = loopback_server{answer_nonsense};
  auto job = cli_job{};
  job.write("agent.yaml", openai_agent(server.address(), stream));
  auto input = std::string{};
  for (const auto& [key, said] : answers)
    input += row_line(key, key);
  job.write("in.jsonl", input);
  const auto end = job.run();
  BOOST_TEST_REQUIRE(end.exit_code == 2, end.out << end.err);
  const auto rows = read_rows(job.read("out.jsonl"));
  BOOST_TEST_REQUIRE(rows.size() == answers.size());
  for (const auto& [key, said] : answers) {
    BOOST_TEST_CONTEXT(key) {
      const auto& row = rows.at(key);
      BOOST_TEST(text_at(row, "status") == (said.error.empty() ? "ok" : "error"));
      if (said.error.empty())
        continue;
      const auto& why = row.at("error").as_object();
      BOOST_TEST(text_at(why, "kind") == "model_error");
      BOOST_TEST(row.at("model_calls").as_int64() == 1); // the call that failed
      const auto text = text_at(why, "message");
      BOOST_TEST(text.find(said.error) != std::string::npos, text.substr(0, 1000));
      // The error names the server and quotes only a part of the answer.
      BOOST_TEST(text.find(server.address()) != std::string::npos, text.substr(0, 1000));
      BOOST_TEST(text.size() < 2000U);
    }
  }
  BOOST_TEST(read_rows(job.read("out.dead.jsonl")).size() == answers.size() - 1);
}

BOOST_AUTO_TEST_CASE(http_error_is_code_and_status_of_row) {
  auto server = loopback_server{answer_unauthorized};
  auto job = cli_job{};
  job.write("agent.yaml", openai_agent(server.address(), false));
  job.write("in.jsonl", row_line("a", "hello"));
  BOOST_TEST(job.run().exit_code == 2);
  const auto row = read_rows(job.read("out.jsonl")).at("a");
  const auto letter = read_rows(job.read("out.dead.jsonl")).at("a");
  for (const auto* line : {&row, &letter}) {
    const auto& why = line->at("error").as_object();
    BOOST_TEST(text_at(why, "code") == "unauthorized");
    BOOST_TEST(why.at("http_status").as_int64() == 401);
  }
  job.write("in.jsonl", R"({"custom_id":"a","method":"POST","url":"/v1/chat/completions",)"
                        R"("body":{"messages":[{"role":"user","content":"hello"}]}})"
                        "\n");
  BOOST_TEST(job.run({"--fresh"}).exit_code == 2);
  const auto answer = read_rows(job.read("out.jsonl")).at("a");
  BOOST_TEST(answer.at("error").is_null());
  const auto& response = answer.at("response").as_object();
  BOOST_TEST(response.at("status_code").as_int64() == 401);
  BOOST_TEST(text_at(response.at("body").at("error").as_object(), "code") == "unauthorized");
  const auto again = job.run(); // nothing is left to do, but the job has a failed row
  BOOST_TEST(again.exit_code == 2);
  BOOST_TEST(again.out.find("nothing to do") != std::string::npos, again.out);
}

// As in LangGraph: with an even limit the last step is the model's, which is then made to stop;
// with an odd limit it is the tools', and the run fails.
BOOST_DATA_TEST_CASE(endless_tool_calls_stop_at_recursion_limit,
                     boost::unit_test::data::make(std::vector<int>{6, 7, 24, 25}) *
                         boost::unit_test::data::make(std::vector<std::string>{"v1", "v2"}),
                     limit, version) {
  auto job = cli_job{};
  job.write("agent.yaml", "name: loops\nmodel: {provider: scripted, path: rules.yaml}\n"
                          "tools: [calculator]\nversion: " +
                              version + "\nrecursion_limit: " + std::to_string(limit) + '\n');
  job.write("rules.yaml", R"(rules:
  - {match: 'loop|^2$', calls: [{name: calculator, args: {expression: 1+1}}]}
  - {match: well, text: Fine.}
)");
  auto input = row_line("loops", "loop");
  for (auto i = 0; i < 20; ++i)
    input += row_line("well-" + std::to_string(i), "well");
  job.write("in.jsonl", input);
  const auto end = job.run();
  const auto is_even = limit % 2 == 0;
  BOOST_TEST(end.exit_code == (is_even ? 0 : 2), end.err);
  const auto rows = read_rows(job.read("out.jsonl"));
  BOOST_TEST_REQUIRE(rows.size() == 21U);
  for (const auto& [key, row] : rows)
    if (key != "loops")
      BOOST_TEST(text_at(row, "status") == "ok", key);
  const auto& loops = rows.at("loops");
  BOOST_TEST(loops.at("model_calls").as_int64() == (limit + 1) / 2);
  if (is_even) {
    BOOST_TEST(text_at(loops, "status") == "ok");
    BOOST_TEST(text_at(messages_of(loops).back().as_object(), "content") ==
               "Sorry, need more steps to process this request.");
    return;
  }
  BOOST_TEST(text_at(loops, "status") == "error");
  const auto& why = loops.at("error").as_object();
  BOOST_TEST(text_at(why, "kind") == "recursion_limit");
  BOOST_TEST(text_at(why, "message").find(std::to_string(limit)) != std::string::npos,
             text_at(why, "message"));
  BOOST_TEST(messages_of(loops).size() > 2U); // the messages so far are kept
}

BOOST_AUTO_TEST_SUITE_END()
