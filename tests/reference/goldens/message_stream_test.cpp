// SPDX-License-Identifier: Apache-2.0
// Every recorded stream yields the same message however its bytes are split.
#include "goldens/message_form.hpp"
#include "models/http/answer_stream.hpp"
#include "protocols/relaxed_json.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace superstep;

struct stream_case {
  std::string id;
  std::string kind;
  json::object input;
};

std::vector<stream_case> recorded_streams() {
  auto out = std::vector<stream_case>{};
  for (const auto& entry : std::filesystem::directory_iterator{SUPERSTEP_GOLDEN_CASES}) {
    const auto name = entry.path().filename().string();
    if (!name.starts_with("message.") || name.find("_stream") == name.npos)
      continue;
    auto in = std::ifstream{entry.path()};
    for (auto line = std::string{}; std::getline(in, line);) {
      const auto c = parse_lenient_json(line).value().as_object();
      if (c.at("input").as_object().contains("events"))
        out.push_back({std::string{c.at("id").as_string()}, std::string{c.at("kind").as_string()},
                       c.at("input").as_object()});
    }
  }
  return out;
}

bool is_lines(const stream_case& c) {
  return c.kind.find("ollama") != c.kind.npos;
}

std::string bytes_of(const stream_case& c) {
  auto bytes = std::string{};
  for (const auto& event : c.input.at("events").as_array())
    bytes += is_lines(c) ? to_text(event) + "\n" : "data: " + to_text(event) + "\r\n\r\n";
  return bytes;
}

provider_api api_of(const stream_case& c) {
  if (is_lines(c))
    return provider_api::ollama;
  if (c.kind.find("anthropic") != c.kind.npos)
    return provider_api::anthropic;
  return c.kind.find("responses") != c.kind.npos ? provider_api::openai_responses
                                                 : provider_api::openai_chat;
}

/// Returns a callback that adds up chunks.
auto adding_to(std::optional<message_chunk>& sum) {
  return [&sum](const message_chunk& piece) {
    if (sum)
      append(*sum, piece).value();
    else
      sum = piece;
  };
}

/// Feeds the bytes in pieces of 1 to `longest` bytes and returns the message or the error.
json::value streamed(const stream_case& c, std::string_view bytes, std::minstd_rand& luck,
                     std::size_t longest) {
  auto sum = std::optional<message_chunk>{};
  const auto add = adding_to(sum);
  auto asked = models::wire_request{};
  asked.with_reasoning = true;
  auto answer = models::answer_stream{api_of(c), asked, output_version::v0, add,
                                      models::answer_stream::bounds{}};
  auto wrong = std::optional<models::fault>{};
  while (!bytes.empty() && !wrong) {
    const auto n = std::min(bytes.size(), 1 + luck() % longest);
    wrong = answer.feed(bytes.substr(0, n));
    bytes.remove_prefix(n);
  }
  if (!wrong)
    wrong = answer.end();
  auto out = json::object{{"whole", answer.is_whole()}};
  if (wrong)
    out["wrong"] = wrong->text;
  if (sum)
    out["message"] = conformance::form_of(to_message(*std::move(sum)));
  return out;
}

/// Number of random splits per stream; SUPERSTEP_STREAM_SPLITS overrides it.
int splits_per_stream() {
  const auto* text = std::getenv("SUPERSTEP_STREAM_SPLITS"); // NOLINT(concurrency-mt-unsafe)
  return text != nullptr ? std::stoi(text) : 60;
}

} // namespace

BOOST_AUTO_TEST_CASE(streamed_answer_does_not_depend_on_byte_splits) {
  auto luck = std::minstd_rand{21};
  const auto streams = recorded_streams();
  const auto splits = splits_per_stream();
  BOOST_TEST(streams.size() >= 15U);
  for (const auto& c : streams) {
    const auto bytes = bytes_of(c);
    const auto whole = streamed(c, bytes, luck, bytes.size());
    for (auto i = 0; i < splits; ++i) {
      const auto longest = i == 0 ? std::size_t{1} : std::size_t{2} + luck() % 60;
      BOOST_TEST_REQUIRE((streamed(c, bytes, luck, longest) == whole), c.id);
    }
  }
}

namespace {

/// Returns the sum of the chunks that a caller receives when it requests standard blocks.
message told_as_blocks(provider_api api, std::string_view bytes) {
  auto sum = std::optional<message_chunk>{};
  const auto add = adding_to(sum);
  auto answer = models::answer_stream{api, models::wire_request{}, output_version::v1, add,
                                      models::answer_stream::bounds{}};
  BOOST_TEST_REQUIRE(!answer.feed(bytes));
  BOOST_TEST_REQUIRE(!answer.end());
  (void)answer.finish().value();
  return to_message(std::move(sum).value());
}

} // namespace

BOOST_AUTO_TEST_CASE(event_with_text_and_call_gives_two_blocks) {
  const auto chat = told_as_blocks(
      provider_api::openai_chat,
      "data: "
      "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"look\",\"tool_calls\":[{\"index\":0,"
      "\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"x\\\":\"}}]}}]}\n\n"
      "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":"
      "{\"arguments\":\"1}\"}}]}}]}\n\n"
      "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n"
      "data: [DONE]\n\n");
  BOOST_TEST(to_text(*chat.blocks) ==
             R"([{"type":"text","text":"look","index":0},)"
             R"({"type":"tool_call","name":"f","args":{"x":1},"id":"a"}])");
  const auto ollama = told_as_blocks(
      provider_api::ollama,
      R"({"message":{"content":"look","tool_calls":[{"function":{"name":"f","arguments":{"x":1}}}]},"done":true})"
      "\n");
  BOOST_REQUIRE(ollama.blocks->size() == 2U);
  BOOST_TEST(to_text(ollama.blocks->at(0)) == R"({"type":"text","text":"look","index":0})");
  BOOST_TEST(to_text(ollama.blocks->at(1).at("args")) == R"({"x":1})");
}

BOOST_AUTO_TEST_CASE(each_streamed_call_has_one_equal_standard_block) {
  auto calls = 0;
  for (const auto& c : recorded_streams()) {
    auto luck = std::minstd_rand{1};
    if (streamed(c, bytes_of(c), luck, 100).as_object().contains("wrong"))
      continue;
    const auto m = told_as_blocks(api_of(c), bytes_of(c));
    for (const auto& call : m.tool_calls) {
      const auto is_its = [&](const json::value& block) {
        return block.at("type") == "tool_call" && block.at("id") == json::value(call.id) &&
               block.at("args") == json::value(call.args);
      };
      BOOST_TEST(std::count_if(m.blocks->begin(), m.blocks->end(), is_its) == 1, c.id);
      ++calls;
    }
  }
  BOOST_TEST(calls > 10);
}
