// SPDX-License-Identifier: Apache-2.0
// Appending stream chunks, parsing their tool calls, and their JSON form.
#include "messages/append_chunk.hpp"
#include "messages/merge.hpp"

#include <superstep/messages/message_json.hpp>
#include <superstep/messages/messages.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <random>
#include <string>
#include <utility>

using namespace superstep;

BOOST_AUTO_TEST_SUITE(chunks)

namespace {

message_chunk ai_chunk(std::string text) {
  auto chunk = message_chunk{};
  chunk.part = ai_message(std::move(text));
  return chunk;
}

message_chunk block_chunk(json::object block) {
  auto chunk = ai_chunk("");
  chunk.part.blocks.emplace().push_back(std::move(block));
  return chunk;
}

message_chunk call_piece(std::string args, int index) {
  auto chunk = ai_chunk("");
  chunk.call_chunks.push_back({std::nullopt, std::move(args), std::nullopt, index});
  return chunk;
}

message_chunk chunk_of(const std::string& members) {
  return chunk_from_json(*parse_json(R"({"type":"AIMessageChunk","content":"",)" + members + '}'))
      .value();
}

token_usage usage(std::string_view members) {
  return usage_from_json(*parse_json(members)).value();
}

} // namespace

BOOST_AUTO_TEST_CASE(append_concatenates_texts_of_chunks) {
  auto sum = ai_chunk("Hel");
  append(sum, ai_chunk("lo")).value();
  BOOST_TEST(to_message(sum).content == "Hello");
}

BOOST_AUTO_TEST_CASE(blocks_with_equal_index_are_merged) {
  auto sum = block_chunk({{"type", "text"}, {"text", "a"}, {"index", 0}});
  append(sum, block_chunk({{"type", "text"}, {"text", "b"}, {"index", 0}})).value();
  append(sum, block_chunk({{"type", "text"}, {"text", "c"}, {"index", 1}})).value();
  const auto m = to_message(sum);
  BOOST_REQUIRE(m.blocks->size() == 2U);
  BOOST_TEST(text_of(m) == "abc");
}

BOOST_AUTO_TEST_CASE(tool_call_chunks_are_joined_by_index) {
  auto sum = ai_chunk("");
  sum.call_chunks = {{"f", "", "c1", 0}, {"g", "", "c2", 1}};
  for (auto [args, index] : {std::pair{R"({"a")", 0}, {"{}", 1}, {": 1}", 0}})
    append(sum, call_piece(args, index)).value();
  const auto m = to_message(sum);
  BOOST_REQUIRE(m.tool_calls.size() == 2U);
  BOOST_TEST(to_text(m.tool_calls[0].args) == R"({"a":1})");
  BOOST_TEST(m.tool_calls[1].id == "c2");
}

BOOST_AUTO_TEST_CASE(piece_without_id_belongs_to_latest_call_of_index) {
  auto sum = ai_chunk("");
  for (const auto* id : {"c1", "c2"}) {
    auto begun = ai_chunk("");
    begun.call_chunks = {{"f", "", id, 0}};
    append(sum, begun).value();
    append(sum, call_piece(R"({"id":")" + std::string{id} + "\"}", 0)).value();
  }
  const auto m = to_message(sum);
  BOOST_REQUIRE(m.tool_calls.size() == 2U);
  for (const auto& call : m.tool_calls)
    BOOST_TEST(call.args.at("id").as_string() == call.id);
}

BOOST_AUTO_TEST_CASE(read_calls_parses_incomplete_arguments) {
  auto sum = ai_chunk("");
  sum.call_chunks = {{"f", R"({"city": "Seo)", "c1", 0}};
  read_calls(sum);
  BOOST_REQUIRE(sum.part.tool_calls.size() == 1U);
  BOOST_TEST(to_text(sum.part.tool_calls[0].args) == R"({"city":"Seo"})");
}

BOOST_AUTO_TEST_CASE(unparsable_arguments_make_an_invalid_call) {
  auto sum = ai_chunk("");
  sum.call_chunks = {{"f", "nope", "c1", 0}};
  const auto m = to_message(sum);
  BOOST_TEST(m.tool_calls.empty());
  BOOST_REQUIRE(m.invalid_tool_calls.size() == 1U);
  BOOST_TEST(m.invalid_tool_calls[0].args == "nope");
}

BOOST_AUTO_TEST_CASE(tool_call_does_not_depend_on_chunk_boundaries) {
  const auto args =
      std::string{R"({"location": "서울 \"강남\"", "days": [1, 2.5, null], "o": {}})"};
  auto luck = std::minstd_rand{31};
  for (auto round = 0; round < 500; ++round) {
    auto sum = ai_chunk("");
    sum.call_chunks = {{"f", "", "c1", 0}};
    for (auto begin = std::size_t{0}; begin < args.size();) {
      const auto n = std::min(args.size() - begin, 1 + luck() % 9);
      append(sum, call_piece(args.substr(begin, n), 0)).value();
      begin += n;
    }
    const auto m = to_message(sum);
    BOOST_TEST_REQUIRE(m.tool_calls.size() == 1U);
    BOOST_TEST_REQUIRE(m.tool_calls[0].args.size() == 3U);
    BOOST_TEST_REQUIRE(m.tool_calls[0].args.at("location").as_string() == "서울 \"강남\"");
  }
}

BOOST_AUTO_TEST_CASE(append_chunk_joins_calls_like_append) {
  auto luck = std::minstd_rand{7};
  for (auto round = 0; round < 500; ++round) {
    const auto is_in_order = round % 2 == 0;
    auto sum = ai_chunk("");
    auto expected = ai_chunk("");
    auto is_sorted = true;
    for (auto i = 0; i < 30; ++i) {
      auto piece = ai_chunk("");
      auto& call = piece.call_chunks.emplace_back();
      call.name = "f";
      call.args = std::to_string(i);
      if (luck() % 3 != 0)
        call.id = "c" + std::to_string(luck() % 4);
      const auto index = static_cast<std::int64_t>(is_in_order ? i / 3U : luck() % 6);
      if (is_in_order || luck() % 5 != 0)
        call.index = index;
      else if (luck() % 2 == 0)
        call.index = "lc_" + std::to_string(index);
      append(expected, piece).value();
      append_chunk(sum, std::move(piece), is_sorted).value();
    }
    BOOST_TEST_REQUIRE((sum.call_chunks == expected.call_chunks));
    BOOST_TEST_REQUIRE(is_sorted == has_sorted_calls(sum));
  }
}

BOOST_AUTO_TEST_CASE(many_calls_are_joined_in_linear_time) {
  const auto seconds = [](int calls) {
    auto sum = ai_chunk("");
    auto is_sorted = true;
    const auto begin = std::clock();
    for (auto i = 0; i < calls; ++i)
      for (const auto* args : {"{", "}"})
        append_chunk(sum, call_piece(args, i), is_sorted).value();
    BOOST_TEST(sum.call_chunks.size() == static_cast<std::size_t>(calls));
    return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  };
  const auto least = [&](int calls) { return std::min({seconds(calls), seconds(calls)}); };
  BOOST_TEST(least(40'000) < 9 * least(10'000)); // 16 times as long if it were quadratic
}

BOOST_AUTO_TEST_CASE(append_adds_token_usage_and_its_details) {
  auto sum = ai_chunk("");
  sum.part.usage = token_usage{5, 1, 6, {{"cache_read", 2}}, {}};
  auto more = ai_chunk("");
  more.part.usage = token_usage{0, 7, 7, {{"cache_read", 1}}, {{"reasoning", 3}}};
  append(sum, more).value();
  const auto total = token_usage{5, 8, 13, {{"cache_read", 3}}, {{"reasoning", 3}}};
  BOOST_TEST((sum.part.usage == total));
}

BOOST_AUTO_TEST_CASE(provider_message_id_replaces_id_generated_for_run) {
  auto sum = ai_chunk("");
  sum.part.id = "lc_run-1";
  auto more = ai_chunk("");
  more.part.id = "msg_1";
  append(sum, more).value();
  BOOST_TEST(sum.part.id == "msg_1");
}

BOOST_AUTO_TEST_CASE(append_rejects_results_of_different_calls) {
  auto sum = message_chunk{tool_message("a", "c1", ""), {}, false};
  const auto other = append(sum, message_chunk{tool_message("b", "c2", ""), {}, false});
  BOOST_REQUIRE(other.has_error());
  BOOST_TEST(other.error().text.find("\"c1\" and \"c2\"") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(append_rejects_metadata_members_of_different_types) {
  auto sum = ai_chunk("");
  sum.part.response_metadata["n"] = 1;
  auto more = ai_chunk("");
  more.part.response_metadata["n"] = "x";
  const auto added = append(sum, more);
  BOOST_REQUIRE(added.has_error());
  BOOST_TEST(added.error().text.find("\"n\"") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(chunk_json_round_trips) {
  auto chunk = ai_chunk("x");
  chunk.call_chunks = {{"f", "{}", std::nullopt, 0}};
  chunk.is_last = true;
  read_calls(chunk);
  const auto again = chunk_from_json(to_json(chunk));
  BOOST_REQUIRE(again.has_value());
  BOOST_TEST((*again == chunk));
}

BOOST_AUTO_TEST_CASE(unknown_token_counts_are_added_at_any_depth) {
  const auto sum = add_usage(usage(R"({"tools":1,"more":{"a":2}})"), usage(R"({"more":{"b":3}})"));
  BOOST_REQUIRE(sum.has_value());
  BOOST_TEST(to_text(sum->others) == R"({"tools":1,"more":{"a":2,"b":3}})");
  BOOST_TEST(add_usage(usage(R"({"tools":"many"})"), usage("{}")).has_error());
}

BOOST_AUTO_TEST_CASE(merge_keeps_later_index_and_adds_other_numbers) {
  auto members = json::object{{"index", 1}, {"n", 1}};
  merge_members(members, {{"index", 2}, {"n", 2}}).value();
  BOOST_TEST(to_text(members) == R"({"index":2,"n":3})");
}

BOOST_AUTO_TEST_CASE(call_chunks_in_additional_kwargs_join_by_index) {
  auto sum = chunk_of(R"("additional_kwargs":{"tool_calls":[
      {"index":0,"id":"c","function":{"name":"f","arguments":"{\"a\":"}}]})");
  append(sum, chunk_of(R"("additional_kwargs":{"tool_calls":[
      {"index":0,"function":{"arguments":" 1}"}}]})"))
      .value();
  const auto m = to_message(sum);
  BOOST_TEST(m.invalid_tool_calls.empty());
  BOOST_REQUIRE(m.tool_calls.size() == 1U);
  BOOST_TEST(to_text(m.tool_calls[0].args) == R"({"a":1})");
}

BOOST_AUTO_TEST_CASE(invalid_call_of_chunk_also_becomes_call_chunk) {
  auto chunk = chunk_of(R"("invalid_tool_calls":[{"name":"f","args":"{","id":"c","error":"e"}])");
  BOOST_TEST(chunk.part.tool_calls.empty());
  BOOST_TEST(chunk.part.invalid_tool_calls.size() == 1U);
  BOOST_REQUIRE(chunk.call_chunks.size() == 1U);
  BOOST_TEST(*chunk.call_chunks[0].args == "{");
}

BOOST_AUTO_TEST_CASE(invalid_call_of_stored_chunk_stays_invalid) {
  const auto m = message_from_dict(*parse_json(
      R"({"type":"AIMessageChunk","data":{"content":"","invalid_tool_calls":[{"name":"f","args":"{","id":"c","error":"e"}]}})"));
  BOOST_REQUIRE(m.has_value());
  BOOST_TEST(m->tool_calls.empty());
  BOOST_REQUIRE(m->invalid_tool_calls.size() == 1U);
  BOOST_TEST(m->invalid_tool_calls[0].args == "{");
}

BOOST_AUTO_TEST_CASE(server_tool_call_is_completed_by_last_chunk) {
  auto chunk = block_chunk(
      {{"type", "server_tool_call_chunk"}, {"id", "s"}, {"args", R"({"q":)"}, {"index", 0}});
  chunk.part.response_metadata["output_version"] = "v1";
  append(chunk,
         block_chunk({{"type", "server_tool_call_chunk"}, {"args", R"("x"})"}, {"index", 0}}))
      .value();
  BOOST_TEST(to_text(to_message(chunk).blocks->at(0).at("type")) == R"("server_tool_call_chunk")");
  chunk.is_last = true;
  BOOST_TEST(to_text(*to_message(chunk).blocks) ==
             R"([{"type":"server_tool_call","id":"s","args":{"q":"x"},"index":0}])");
}

BOOST_AUTO_TEST_SUITE_END()
