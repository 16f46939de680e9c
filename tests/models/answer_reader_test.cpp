// SPDX-License-Identifier: Apache-2.0
#include "models/answer_reader.hpp"

#include <superstep/models/model_error.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <string_view>
#include <vector>

using namespace superstep;
using namespace superstep::models;

namespace {

constexpr auto whole = std::string_view{
    R"({"model":"m1","choices":[{"index":0,"message":{"role":"assistant","content":"Hi","tool_calls":[)"
    R"({"id":"a","type":"function","function":{"name":"add","arguments":"{\"x\": 1}"}},)"
    R"({"id":"b","type":"function","function":{"name":"mul","arguments":"{\"y\": [2, 3]}"}}]},)"
    R"("finish_reason":"tool_calls"}],"usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10,)"
    R"("prompt_tokens_details":{"cached_tokens":2}}})"};

const auto chunks = std::vector<std::string_view>{
    R"({"model":"m1","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]})",
    R"({"choices":[{"delta":{"content":"H"}}]})",
    R"({"choices":[{"delta":{"content":"i"}}]})",
    R"({"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"add","arguments":""}}]}}]})",
    R"({"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"x\""}}]}}]})",
    R"({"choices":[{"delta":{"tool_calls":[{"index":1,"id":"b","function":{"name":"mul","arguments":"{\"y\": "}}]}}]})",
    R"({"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":": 1}"}},{"index":1,"function":{"arguments":"[2, 3]}"}}]}}]})",
    R"({"choices":[{"delta":{},"finish_reason":"tool_calls"}]})",
    R"({"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10,"prompt_tokens_details":{"cached_tokens":2}}})",
    "[DONE]"};

const auto nonsense = std::vector<std::string_view>{
    "",
    "<html><body>Bad gateway</body></html>",
    "[]",
    "{}",
    R"({"choices":[]})",
    R"({"choices":{}})",
    R"({"choices":[1]})",
    R"({"choices":[{}]})",
    R"({"choices":[{"message":{"role":"assistant","content":null}}]})",
    R"({"choices":[{"message":{"role":"assistant","content":null,"tool_calls":[]}}]})",
    R"({"choices":[{"message":{"role":"assistant","tool_calls":"x"}}]})"};

} // namespace

BOOST_AUTO_TEST_CASE(a_streamed_answer_becomes_the_same_message_as_a_whole_one) {
  const auto once = read_answer(whole);
  BOOST_REQUIRE(once.has_value());
  auto builder = answer_builder{};
  for (const auto chunk : chunks)
    BOOST_TEST(builder.add(chunk).has_value());
  BOOST_TEST(builder.is_done());
  const auto built = builder.finish();
  BOOST_REQUIRE(built.has_value());
  BOOST_TEST((*built == *once));
  BOOST_TEST(once->content == "Hi");
  BOOST_TEST(once->tool_calls.size() == 2u);
  BOOST_TEST(once->tool_calls[1].name == "mul");
  BOOST_TEST(once->usage->total_tokens == 10);
  BOOST_TEST(once->response_metadata.at("finish_reason").as_string() == "tool_calls");
}

BOOST_DATA_TEST_CASE(nonsense_is_a_bad_answer, boost::unit_test::data::make(nonsense), body) {
  const auto read = read_answer(body);
  BOOST_REQUIRE(read.has_error());
  BOOST_TEST((read.error().code == make_error_code(model_errc::bad_answer)));
}

BOOST_AUTO_TEST_CASE(a_stream_that_ends_early_is_not_whole) {
  auto builder = answer_builder{};
  BOOST_TEST(builder.add(chunks[1]).has_value());
  BOOST_TEST(!builder.is_whole());
}

BOOST_AUTO_TEST_CASE(an_error_and_nonsense_in_the_stream_are_errors) {
  auto builder = answer_builder{};
  BOOST_TEST(builder.add(R"({"error":{"message":"overloaded"}})").has_error());
  BOOST_TEST(builder.add("{").has_error());
  BOOST_TEST(
      builder.add(R"({"choices":[{"delta":{"tool_calls":[{"index":99999}]}}]})").has_error());
}

BOOST_AUTO_TEST_CASE(what_a_server_says_about_its_failure_is_found) {
  BOOST_TEST(read_fault(R"({"error":{"message":"no","code":"insufficient_quota"}})").code ==
             "insufficient_quota");
  BOOST_TEST(read_fault(R"({"error":{"message":"no","type":"x","code":null}})").code == "x");
  BOOST_TEST(read_fault("Bad gateway").text == "Bad gateway");
}
