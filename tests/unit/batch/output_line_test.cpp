// SPDX-License-Identifier: Apache-2.0
// Output lines and dead letters in native and batch-request form.
#include "batch/output_line.hpp"
#include "job_fixture.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(output_line)

namespace {

using namespace superstep;
using namespace superstep::detail;
using namespace superstep::testing;

const auto identity = job_identity{"run-1", 1700000000};

std::string line_of(row_shape shape, std::string_view text) {
  auto request = row_request{};
  request.key = "k\"1";
  request.messages.push_back(human_message(std::string{text}));
  request.input["n"] = 1.5;
  auto origin = row_origin{};
  origin.shape = shape;
  origin.key = request.key;
  origin.key_name = shape == row_shape::openai ? "custom_id" : "id";
  origin.attempt = 2;
  auto outcome = echo(request);
  outcome.model = "tiny";
  outcome.barrier_wait = std::chrono::microseconds{2'050};
  auto out = std::string{};
  append_output_line(out, origin, outcome, std::chrono::microseconds{12'345}, identity);
  return out;
}

} // namespace

BOOST_AUTO_TEST_CASE(output_line_of_native_row_has_all_members) {
  BOOST_TEST(
      line_of(row_shape::native, "hi") ==
      R"({"id":"k\"1","status":"ok","output":{"messages":[{"type":"human","content":"hi"},)"
      R"({"type":"ai","content":"echo hi","id":"k\"1-1-0"}],"n":1.5},"error":null,)"
      R"("usage":{"input_tokens":3,"output_tokens":2,"total_tokens":5},"cost":null,"steps":1,)"
      R"("model_calls":1,"tool_calls":0,"wall_ms":12.345,"barrier_wait_ms":2.050,"attempt":2,"job_id":"run-1"})"
      "\n");
}

BOOST_AUTO_TEST_CASE(output_line_contains_known_cost) {
  auto origin = row_origin{};
  origin.key = "k";
  origin.key_name = "id";
  auto outcome = row_outcome{};
  for (const auto& [billionths, text] :
       std::vector<std::pair<std::int64_t, std::string>>{{0, "0"},
                                                         {1, "0.000000001"},
                                                         {1'500'000, "0.0015"},
                                                         {1'000'000'000, "1"},
                                                         {12'000'000'340, "12.00000034"}}) {
    outcome.cost = billionths;
    auto line = std::string{};
    append_output_line(line, origin, outcome, {}, identity);
    BOOST_TEST(line.find("\"cost\":" + text + ",\"steps\"") != std::string::npos, line);
    origin.shape = row_shape::openai;
    line.clear();
    append_output_line(line, origin, outcome, {}, identity);
    BOOST_TEST(line.find("\"cost\":" + text + "}}") != std::string::npos, line);
    origin.shape = row_shape::native;
  }
}

BOOST_AUTO_TEST_CASE(failed_row_output_names_node_step_and_attempts) {
  auto row = parse_json(line_of(row_shape::chat, "fail")).value();
  BOOST_TEST(row.at("status").as_string() == "error");
  BOOST_TEST(
      to_text(row.at("error")) ==
      R"({"kind":"node_failed","code":"node_failed","message":"asked to \"fail\"","node":"agent","step":2,"attempts":1})");
  BOOST_TEST(row.at("output").at("messages").as_array().size() == 2U);
}

BOOST_AUTO_TEST_CASE(batch_request_output_is_a_chat_completion) {
  auto row = parse_json(line_of(row_shape::openai, "hi")).value();
  BOOST_TEST(row.at("custom_id").as_string() == "k\"1");
  BOOST_TEST(row.at("error").is_null());
  BOOST_TEST(row.at("response").at("status_code").as_int64() == 200);
  const auto& body = row.at("response").at("body");
  BOOST_TEST(body.at("object").as_string() == "chat.completion");
  BOOST_TEST(body.at("model").as_string() == "tiny");
  BOOST_TEST(body.at("created").as_int64() == 1700000000);
  BOOST_TEST(
      to_text(body.at("choices")) ==
      R"([{"index":0,"message":{"role":"assistant","content":"echo hi"},"finish_reason":"stop"}])");
  BOOST_TEST(body.at("usage").at("completion_tokens").as_int64() == 2);
}

BOOST_AUTO_TEST_CASE(failed_batch_request_has_error_and_null_response) {
  auto row = parse_json(line_of(row_shape::openai, "fail")).value();
  BOOST_TEST(row.at("response").is_null());
  BOOST_TEST(row.at("error").at("code").as_string() == "node_failed");
}

BOOST_AUTO_TEST_CASE(http_error_has_status_and_code_in_output) {
  auto origin = row_origin{};
  origin.key = "a";
  origin.key_name = "custom_id";
  auto outcome = row_outcome{};
  outcome.status = row_status::error;
  outcome.error.emplace();
  outcome.error->kind = "model_error";
  outcome.error->code = "rate_limited";
  outcome.error->http_status = 429;
  outcome.error->message = "slow down";
  outcome.error->attempts = 1;
  outcome.error->answer = "{\"a\": \"b";
  auto text = std::string{};
  append_output_line(text, origin, outcome, {}, identity);
  const auto native = parse_json(text).value();
  BOOST_TEST(to_text(native.at("error")) ==
             R"({"kind":"model_error","code":"rate_limited","message":"slow down",)"
             R"("http_status":429,"attempts":1,"answer":"{\"a\": \"b"})");
  origin.shape = row_shape::openai;
  text.clear();
  append_output_line(text, origin, outcome, {}, identity);
  BOOST_TEST(text == R"({"id":"batch_req_a","custom_id":"a","response":{"status_code":429,)"
                     R"("request_id":"req_a","body":{"error":{"message":"slow down",)"
                     R"("type":"model_error","param":null,"code":"rate_limited"}}},"error":null})"
                     "\n");
}

BOOST_AUTO_TEST_CASE(invalid_line_has_no_attempts) {
  auto line = std::string{};
  append_bad_line(line, 3, "?", error{errc::parse_failed, "not JSON"});
  BOOST_TEST(line == R"({"text":"?","error":{"kind":"bad_line","code":"bad_line",)"
                     R"("message":"not JSON","line":3}})"
                     "\n");
}

BOOST_AUTO_TEST_CASE(dead_letter_is_input_line_with_error) {
  auto origin = row_origin{};
  auto why = row_error{};
  why.kind = "timed_out";
  why.message = "too slow \xFF";
  auto line = std::string{};
  append_dead_line(line, origin, "{\"id\": \"a\", \"x\": 1.0} \r", why);
  BOOST_TEST(line == "{\"id\": \"a\", \"x\": 1.0,\"error\":{\"kind\":\"timed_out\",\"code\":"
                     "\"timed_out\",\"message\":\"too slow \xEF\xBF\xBD\"}}\n");
  origin.has_error = true;
  auto again = std::string{};
  append_dead_line(again, origin, line, why);
  auto parsed = parse_json(again).value();
  BOOST_TEST(parsed.as_object().size() == 3U);
}

// A template of messages may need no column, so the line of a row may have no member.
BOOST_AUTO_TEST_CASE(dead_letter_of_empty_object_is_valid) {
  for (const auto* input : {"{}", "{ }", "\t{ \t }\r", R"({ "a":1 } )"}) {
    auto origin = row_origin{};
    origin.shape = row_shape::columns;
    origin.key = "3";
    origin.key_name = "id";
    origin.is_numbered = true;
    auto why = row_error{};
    why.kind = "timed_out";
    auto line = std::string{};
    append_dead_line(line, origin, input, why);
    const auto letter = parse_json(line);
    BOOST_REQUIRE_MESSAGE(letter.has_value(), line);
    BOOST_TEST(letter->at("id").as_string() == "3");
    BOOST_TEST(letter->at("error").at("kind").as_string() == "timed_out");
  }
}

BOOST_AUTO_TEST_SUITE_END()
