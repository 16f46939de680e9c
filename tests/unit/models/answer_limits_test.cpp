// SPDX-License-Identifier: Apache-2.0
// Limits on the tool calls of one answer and on the bytes it holds while it is received.
#include "fed_streams.hpp"

#include <superstep/models/chat_model.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <ostream>
#include <string>
#include <vector>

using namespace superstep;
using namespace superstep::models;

BOOST_AUTO_TEST_SUITE(answer_limits)

namespace {

struct calls_case {
  provider_api api;
  std::string_view name;
};
std::ostream& operator<<(std::ostream& out, const calls_case& c) {
  return out << c.name;
}
const auto calls_cases = std::vector<calls_case>{{provider_api::openai_chat, "chat"},
                                                 {provider_api::openai_responses, "responses"},
                                                 {provider_api::anthropic, "anthropic"},
                                                 {provider_api::ollama, "ollama"}};

/// Returns an answer with this many calls.
std::string answer_of(provider_api api, std::size_t calls) {
  auto list = json::array{};
  for (auto i = std::size_t{0}; i < calls; ++i) {
    const auto id = "c" + std::to_string(i);
    if (api == provider_api::anthropic)
      list.push_back({{"type", "tool_use"}, {"id", id}, {"name", "f"}, {"input", json::object{}}});
    else if (api == provider_api::openai_responses)
      list.push_back({{"type", "function_call"},
                      {"id", "f" + id},
                      {"call_id", id},
                      {"name", "f"},
                      {"arguments", "{}"}});
    else if (api == provider_api::ollama)
      list.push_back(
          json::object{{"function", json::object{{"name", "f"}, {"arguments", json::object{}}}}});
    else
      list.push_back(
          {{"id", id}, {"type", "function"}, {"function", {{"name", "f"}, {"arguments", "{}"}}}});
  }
  if (api == provider_api::anthropic)
    return json::serialize(json::value{{"type", "message"},
                                       {"role", "assistant"},
                                       {"content", list},
                                       {"stop_reason", "tool_use"}});
  if (api == provider_api::openai_responses)
    return json::serialize(json::value{
        {"id", "r"}, {"object", "response"}, {"status", "completed"}, {"output", list}});
  auto said = json::object{{"role", "assistant"}, {"content", ""}, {"tool_calls", list}};
  if (api == provider_api::ollama)
    return json::serialize(json::value{{"message", said}, {"done", true}});
  return json::serialize(json::value{
      {"choices", {{{"index", 0}, {"message", said}, {"finish_reason", "tool_calls"}}}}});
}

} // namespace

BOOST_DATA_TEST_CASE(complete_answer_with_too_many_calls_is_rejected,
                     boost::unit_test::data::make(calls_cases), c) {
  const auto enough = read_answer(c.api, answer_of(c.api, 100), 100);
  BOOST_REQUIRE_MESSAGE(enough.has_value(), (enough ? "" : enough.error().text));
  BOOST_TEST(enough->tool_calls.size() == 100u);
  for (const auto calls : {std::size_t{101}, std::size_t{100'000}}) {
    const auto read = read_answer(c.api, answer_of(c.api, calls), 100);
    BOOST_REQUIRE(read.has_error());
    BOOST_TEST((read.error().code == make_error_code(model_errc::bad_answer)));
    BOOST_TEST(read.error().text.find("more than 100 tool calls") != std::string::npos);
  }
  BOOST_TEST(read_answer(c.api, answer_of(c.api, 2'000), 0).has_value());
}

BOOST_DATA_TEST_CASE(calls_of_long_answer_are_counted_before_parsing,
                     boost::unit_test::data::make(calls_cases), c) {
  // Add a syntax error after the calls. It is not reported, because the calls are counted first.
  auto text = answer_of(c.api, 20'000);
  text.insert(text.size() - 1, ",");
  const auto read = read_answer(c.api, text, 100);
  BOOST_REQUIRE(read.has_error());
  BOOST_TEST(read.error().text.find("more than 100 tool calls") != std::string::npos);
  // Other long texts are still accepted.
  BOOST_TEST(read_answer(c.api, answer_of(c.api, 20'000), 20'000).has_value());
  for (const auto* wrong :
       {R"({"choices":[)", R"({"message":7,"output":7,"content":7,"choices":7)"}) {
    const auto none = read_answer(c.api, wrong + std::string(1'000'000, ' '), 100);
    BOOST_REQUIRE(none.has_error());
    BOOST_TEST((none.error().code == make_error_code(errc::parse_failed)), none.error().text);
  }
}

BOOST_AUTO_TEST_CASE(stream_event_with_too_many_calls_is_rejected) {
  auto list = json::array{};
  for (auto i = 0; i < 101; ++i)
    list.push_back({{"index", i},
                    {"id", "c" + std::to_string(i)},
                    {"type", "function"},
                    {"function", {{"name", "f"}, {"arguments", "{}"}}}});
  auto stream = make_stream();
  const auto wrong = stream.feed(event(json::serialize(
      json::value{{"choices", {{{"index", 0}, {"delta", {{"tool_calls", list}}}}}}})));
  BOOST_REQUIRE(wrong.has_value());
  BOOST_TEST(wrong->text.find("more than 100 tool calls") != std::string::npos, wrong->text);
}

BOOST_AUTO_TEST_CASE(held_bytes_of_stream_exclude_event_framing) {
  auto stream = make_stream();
  const auto small = event(R"({"choices":[{"delta":{"content":"a"}}]})");
  for (auto i = 0; i < 1'000; ++i)
    BOOST_REQUIRE(!stream.feed(small));
  BOOST_TEST(stream.held_bytes() < 10'000u);
  const auto large =
      event(R"({"choices":[{"delta":{"content":")" + std::string(100'000, 'x') + R"("}}]})");
  BOOST_REQUIRE(!stream.feed(large));
  BOOST_TEST(stream.held_bytes() > 100'000u);
}

BOOST_AUTO_TEST_SUITE_END()
