// SPDX-License-Identifier: Apache-2.0
// Conversion of provider content to standard blocks.
#include <superstep/messages/message_json.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <ostream>
#include <string_view>
#include <vector>

using namespace superstep;

BOOST_AUTO_TEST_SUITE(standard_blocks)

namespace {

struct block_case {
  std::string_view name, message, blocks;
};
std::ostream& operator<<(std::ostream& out, const block_case& c) {
  return out << c.name;
}

const auto cases = std::vector<block_case>{
    {"text is one block", R"({"type":"human","content":"x"})", R"([{"type":"text","text":"x"}])"},
    {"empty text gives no block", R"({"type":"human","content":""})", "[]"},
    {"a link of chat completions",
     R"({"type":"human","content":[{"type":"image_url","image_url":{"url":"u"}}]})",
     R"([{"type":"image","id":"lc_block_0","url":"u"}])"},
    {"a sound of chat completions",
     R"({"type":"human","content":[{"type":"input_audio","input_audio":{"data":"AA","format":"wav"}}]})",
     R"([{"type":"audio","id":"lc_block_0","base64":"AA","mime_type":"audio/wav"}])"},
    {"a document of Anthropic's",
     R"({"type":"human","content":[{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"AA"},"title":"T"}]})",
     R"([{"type":"file","base64":"AA","mime_type":"application/pdf","extras":{"title":"T"}}])"},
    {"a picture of chat completions without a link",
     R"({"type":"human","content":[{"type":"image_url","image_url":{"detail":"low"}}]})",
     R"([{"type":"non_standard","value":{"type":"image_url","image_url":{"detail":"low"}}}])"},
    {"a sound of chat completions without a format",
     R"({"type":"human","content":[{"type":"input_audio","input_audio":{"data":"AA"}}]})",
     R"([{"type":"non_standard","value":{"type":"input_audio","input_audio":{"data":"AA"}}}])"},
    {"an unknown block", R"({"type":"human","content":[{"type":"odd","x":1}]})",
     R"([{"type":"non_standard","value":{"type":"odd","x":1}}])"},
    {"calls that are no block come last",
     R"({"type":"ai","content":"x","tool_calls":[{"name":"f","args":{},"id":"c"}]})",
     R"([{"type":"text","text":"x"},{"type":"tool_call","name":"f","args":{},"id":"c"}])"},
    {"a call without an id of chat completions",
     R"({"type":"ai","content":"x","tool_calls":[{"name":"f","args":{},"id":null}],"response_metadata":{"model_provider":"openai"}})",
     R"([{"type":"text","text":"x"},{"type":"tool_call","name":"f","args":{},"id":""}])"},
    {"an empty answer of Anthropic",
     R"({"type":"ai","content":"","response_metadata":{"model_provider":"anthropic"}})",
     R"([{"type":"text","text":""}])"},
    {"tools that OpenAI listed",
     R"({"type":"ai","content":[{"type":"mcp_list_tools","id":"m","tools":[1],"index":0}],"response_metadata":{"model_provider":"openai"}})",
     R"([{"type":"server_tool_call","name":"mcp_list_tools","id":"m","args":{},"index":"lc_mlt_0"},{"type":"server_tool_result","tool_call_id":"m","output":[1],"status":"success","index":"lc_mltr_1"}])"},
    {"reasoning beside the text comes first",
     R"({"type":"ai","content":"x","additional_kwargs":{"reasoning_content":"r"}})",
     R"([{"type":"reasoning","reasoning":"r"},{"type":"text","text":"x"}])"},
    {"a failed search of Anthropic's",
     R"({"type":"ai","content":[{"type":"web_search_tool_result","tool_use_id":"s","content":{"error_code":"busy"}}],"response_metadata":{"model_provider":"anthropic"}})",
     R"([{"type":"server_tool_result","tool_call_id":"s","status":"error","extras":{"block_type":"web_search_tool_result"},"output":{"error_code":"busy"}}])"},
    {"code that OpenAI ran",
     R"({"type":"ai","content":[{"type":"code_interpreter_call","id":"ci","code":"1","outputs":[],"status":"completed"}],"response_metadata":{"model_provider":"openai"}})",
     R"([{"type":"server_tool_call","name":"code_interpreter","id":"ci","args":{"code":"1"}},{"type":"server_tool_result","tool_call_id":"ci","output":[],"status":"success"}])"},
    {"calls with one id are separate blocks",
     R"({"type":"ai","content":"","tool_calls":[{"name":"f","args":{},"id":"c"},{"name":"g","args":{},"id":"c"}]})",
     R"([{"type":"tool_call","name":"f","args":{},"id":"c"},{"type":"tool_call","name":"g","args":{},"id":"c"}])"},
    {"content marked as standard is unchanged",
     R"({"type":"ai","content":[{"type":"odd"}],"response_metadata":{"output_version":"v1"}})",
     R"([{"type":"odd"}])"},
};

} // namespace

BOOST_DATA_TEST_CASE(content_of_any_provider_becomes_standard_blocks,
                     boost::unit_test::data::make(cases), c) {
  const auto m = message_from_json(*parse_json(c.message));
  BOOST_REQUIRE(m.has_value());
  const auto blocks = content_blocks(*m);
  BOOST_REQUIRE(blocks.has_value());
  BOOST_TEST(to_text(*blocks) == c.blocks);
}

BOOST_AUTO_TEST_CASE(unfinished_tool_call_becomes_tool_call_chunk_block) {
  auto chunk = message_chunk{};
  chunk.part.type = message_type::ai;
  chunk.call_chunks = {{"f", "{", "c", 0}};
  const auto piece = R"({"type":"tool_call_chunk","name":"f","args":"{","id":"c","index":0})";
  BOOST_TEST(to_text(content_blocks(chunk).value()) == '[' + std::string{piece} + ']');
}

BOOST_AUTO_TEST_CASE(tool_call_chunk_blocks_follow_text_block) {
  auto chunk = message_chunk{};
  chunk.part = ai_message("x");
  chunk.call_chunks = {{"f", "{", "c", 0}};
  const auto blocks = content_blocks(chunk).value();
  BOOST_REQUIRE(blocks.size() == 2U);
  BOOST_TEST(blocks[0].at("type").as_string() == "text");
  BOOST_TEST(blocks[1].at("type").as_string() == "tool_call_chunk");
}

BOOST_AUTO_TEST_CASE(message_built_from_blocks_has_their_tool_calls) {
  const auto blocks = parse_json(
      R"([{"type":"text","text":"x"},{"type":"tool_call","name":"f","args":{"a":1},"id":"c"}])");
  const auto m = message_of_blocks(message_type::ai, blocks->as_array());
  BOOST_REQUIRE(m.tool_calls.size() == 1U);
  BOOST_TEST(m.tool_calls[0].name == "f");
  BOOST_TEST(text_of(m) == "x");
  BOOST_TEST(to_text(content_blocks(m).value()) == to_text(*blocks));
}

BOOST_AUTO_TEST_SUITE_END()
