// SPDX-License-Identifier: Apache-2.0
// Checks rows of the GSM8K data against their recordings.
#include "gsm8k.hpp"

#include "numbers.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>

namespace superstep::testing {

namespace {

/// Converts an assistant message of a recording or an output row to one common form.
json::value said_in(const json::object& message, bool is_recorded) {
  auto calls = json::array{};
  if (const auto* all = message.if_contains("tool_calls"))
    for (const auto& call : all->as_array()) {
      const auto& named = is_recorded ? call.at("function") : call;
      auto args = is_recorded ? json::parse(named.at("arguments").as_string()) : named.at("args");
      calls.push_back(json::object{
          {"id", call.at("id")}, {"name", named.at("name")}, {"args", std::move(args)}});
    }
  return json::object{{"text", message.at("content")}, {"calls", std::move(calls)}};
}

void check_tool_results(const std::vector<std::string>& results, const json::array& expected) {
  BOOST_TEST_REQUIRE(results.size() == expected.size());
  for (auto i = std::size_t{0}; i < results.size(); ++i) {
    const auto wanted = std::string{expected[i].as_string()};
    BOOST_TEST(agree(results[i], wanted),
               "call " << i << ": " << results[i] << " is not " << wanted);
  }
}

} // namespace

void check_gsm8k_row(const json::object& row, const json::object& recorded) {
  BOOST_TEST_REQUIRE(text_at(row, "status") == "ok", json::serialize(row));
  const auto& messages = messages_of(row);
  const auto& turns = recorded.at("turns").as_array();
  auto results = std::vector<std::string>{};
  auto turn = std::size_t{0};
  for (const auto& m : messages) {
    const auto& message = m.as_object();
    const auto type = text_at(message, "type");
    if (type == "tool")
      results.push_back(text_at(message, "content"));
    if (type != "ai")
      continue;
    BOOST_TEST_REQUIRE(turn < turns.size());
    BOOST_TEST((said_in(message, false) == said_in(turns[turn].as_object(), true)),
               "turn " << turn << ": " << json::serialize(message));
    ++turn;
  }
  BOOST_TEST(turn == turns.size());
  check_tool_results(results, recorded.at("expected_tool_results").as_array());
  const auto gold = numbers_in(text_at(recorded, "gold"));
  const auto answer = text_at(messages.back().as_object(), "content");
  const auto numbers = numbers_in(answer);
  BOOST_TEST_REQUIRE(gold.size() == 1U);
  BOOST_TEST((std::ranges::find(numbers, gold[0]) != numbers.end()),
             "the answer \"" << answer << "\" does not hold " << gold[0]);
}

rows_by_key gsm8k_recordings(std::size_t limit) {
  const auto data = shared_data("gsm8k");
  auto all = read_rows(read_file(data + "/recorded_turns.jsonl"));
  if (limit == 0)
    return all;
  auto out = rows_by_key{};
  for (const auto& row : read_objects(read_file(data + "/input.jsonl"))) {
    if (out.size() == limit)
      break;
    const auto key = text_at(row, "custom_id");
    out.emplace(key, std::move(all.at(key)));
  }
  return out;
}

} // namespace superstep::testing
