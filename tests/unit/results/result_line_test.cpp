// SPDX-License-Identifier: Apache-2.0
// Reading output lines in all forms, and files with blank, torn and foreign lines.
#include "unit/results/output_file.hpp"

#include <boost/test/unit_test.hpp>

namespace superstep::results {

using testing::failed_line;
using testing::ok_line;
using testing::output_files;
using testing::read;

BOOST_AUTO_TEST_SUITE(result_lines)

BOOST_AUTO_TEST_CASE(native_line_gives_answer_tools_and_numbers) {
  const auto line = read(R"({"id":"r","status":"ok","output":{"messages":[
    {"type":"human","content":"q"},
    {"type":"ai","content":"","tool_calls":[{"name":"add","args":{},"id":"c"}]},
    {"type":"tool","content":"x","name":"add","tool_call_id":"c","status":"error"},
    {"type":"ai","content":[{"type":"text","text":"the "},{"type":"image"},
                            {"type":"text","text":"end"}]}],
    "structured_response":{"b":1,"a":2}},
    "error":null,"usage":{"input_tokens":3,"output_tokens":4,"total_tokens":7},"cost":0.25,
    "steps":5,"model_calls":2,"tool_calls":1,"wall_ms":12,"attempt":2,"score":0.5})");
  BOOST_TEST(line.key == "r");
  BOOST_TEST((line.status == result_status::ok));
  BOOST_TEST(line.answer == "the end");
  BOOST_TEST(line.structured == R"({"a":2,"b":1})");
  BOOST_TEST(compared_text(line) == line.structured);
  BOOST_REQUIRE(line.tools.size() == 1U);
  BOOST_TEST(line.tools[0].tool == "add");
  BOOST_TEST(line.tools[0].is_failed);
  BOOST_TEST(line.input_tokens == 3);
  BOOST_TEST(line.output_tokens == 4);
  BOOST_TEST(line.cost.value() == 0.25);
  BOOST_TEST(line.wall_ms.value() == 12.0);
  BOOST_TEST(line.score.value() == 0.5);
  BOOST_TEST(line.steps.value() == 5U);
  BOOST_TEST(line.attempt == 2U);
}

BOOST_AUTO_TEST_CASE(number_that_is_no_score_is_ignored) {
  BOOST_TEST(read(R"({"id":"r","answer":"x","score":1})").score.value() == 1.0);
  BOOST_TEST(!read(R"({"id":"r","answer":"x","score":4.5})").score.has_value());
  BOOST_TEST(!read(R"({"id":"r","answer":"x","score":-1})").score.has_value());
}

BOOST_AUTO_TEST_CASE(openai_and_vllm_lines_are_read) {
  const auto ok = read(R"({"id":"batch_req_1","custom_id":"k","response":{"status_code":200,
    "body":{"choices":[{"message":{"role":"assistant","content":"hi"}}],
            "usage":{"prompt_tokens":2,"completion_tokens":1}}},"error":null})");
  BOOST_TEST(ok.key == "k");
  BOOST_TEST(ok.answer == "hi");
  BOOST_TEST(ok.input_tokens == 2);
  const auto refused = read(R"({"custom_id":"k","response":{"status_code":429,
    "body":{"error":{"message":"slow down","code":"rate_limit"}}},"error":null})");
  BOOST_TEST((refused.status == result_status::error));
  BOOST_TEST(refused.error_kind == "http_429");
  BOOST_TEST(refused.error_message == "slow down");
  const auto expired = read(
      R"({"custom_id":"k","response":null,"error":{"code":"batch_expired","message":"late"}})");
  BOOST_TEST(expired.error_kind == "batch_expired");
  BOOST_TEST(expired.error_message == "late");
  const auto vllm =
      read(R"({"custom_id":"k","response":{"status_code":400,"body":null},"error":"too long"})");
  BOOST_TEST((vllm.status == result_status::error));
  BOOST_TEST(vllm.error_message == "too long");
}

BOOST_AUTO_TEST_CASE(line_with_selected_fields_is_read) {
  const auto line = read(R"({"id":"k","answer":"42","usage":{"input_tokens":1}})");
  BOOST_TEST(line.answer == "42");
  BOOST_TEST(line.input_tokens == 1);
  BOOST_TEST(!line.wall_ms.has_value());
}

BOOST_AUTO_TEST_CASE(selected_members_of_usage_are_read) {
  const auto line =
      read(R"({"id":"k","answer":"42","usage.input_tokens":3,"usage.output_tokens":4,"cost":0.5})");
  BOOST_TEST(line.has_usage);
  BOOST_TEST(line.input_tokens == 3);
  BOOST_TEST(line.output_tokens == 4);
  for (const auto* other : {R"({"id":"k","usage.output_tokens":4})",
                            R"({"id":"k","usage.input_tokens":null,"usage.output_tokens":null})"})
    BOOST_TEST(!read(other).has_usage, other);
}

BOOST_AUTO_TEST_CASE(batch_request_has_its_cost) {
  const auto line = read(R"({"custom_id":"k","response":{"status_code":200,"body":{
      "choices":[{"message":{"content":"x"}}],
      "usage":{"prompt_tokens":3,"completion_tokens":4,"cost":0.5}}},"error":null})");
  BOOST_TEST(line.cost.value_or(0) == 0.5);
  BOOST_TEST(read(R"({"id":"k","usage":{"prompt_tokens":3,"cost":0.5}})").cost.value_or(0) == 0.5);
}

BOOST_AUTO_TEST_CASE(members_of_wrong_types_are_ignored) {
  const auto line =
      read(R"({"id":3,"output":[],"usage":7,"wall_ms":"x","error":false,"steps":-1})");
  BOOST_TEST(line.key.empty());
  BOOST_TEST(!line.wall_ms.has_value());
  BOOST_TEST(!line.steps.has_value());
}

BOOST_AUTO_TEST_CASE(reader_skips_blank_and_torn_lines) {
  const auto files = output_files{};
  const auto path = files.write("o", ok_line("a", "1") + "\n" + ok_line("b", "2") + R"({"id":"c)");
  auto reader = result_reader::open(path).value();
  auto keys = std::string{};
  while (reader.next().value()) {
    keys += read_result_line(reader.object()).key;
    auto parser = simdjson::dom::parser{};
    const auto again = read_result_at(reader.file(), reader.offset(), reader.size(), parser);
    BOOST_TEST(again.value().key == keys.substr(keys.size() - 1));
  }
  BOOST_TEST(keys == "ab");
  BOOST_TEST(reader.is_torn());
}

BOOST_AUTO_TEST_CASE(reader_skips_byte_order_mark_and_white_space) {
  const auto files = output_files{};
  const auto path =
      files.write("o", "\xEF\xBB\xBF" + ok_line("a", "1") + "\r\n \t\n" + ok_line("b", "2") + " ");
  auto reader = result_reader::open(path).value();
  auto keys = std::string{};
  while (reader.next().value()) {
    keys += read_result_line(reader.object()).key;
    auto parser = simdjson::dom::parser{};
    const auto again = read_result_at(reader.file(), reader.offset(), reader.size(), parser);
    BOOST_TEST(again.value().key == keys.substr(keys.size() - 1));
  }
  BOOST_TEST(keys == "ab");
  BOOST_TEST(!reader.is_torn());
}

BOOST_AUTO_TEST_CASE(last_line_needs_no_line_break) {
  const auto files = output_files{};
  const auto path = files.write("o", ok_line("a", "1") + R"({"id":"b","answer":"2"})");
  auto reader = result_reader::open(path).value();
  BOOST_TEST(reader.next().value());
  BOOST_TEST(reader.next().value());
  BOOST_TEST(read_result_line(reader.object()).answer == "2");
  BOOST_TEST(!reader.next().value());
  BOOST_TEST(!reader.is_torn());
}

BOOST_AUTO_TEST_CASE(reader_rejects_other_files_with_line_number) {
  const auto files = output_files{};
  const auto path = files.write("o", ok_line("a", "1") + "hello\n" + failed_line("b", "x"));
  auto reader = result_reader::open(path).value();
  BOOST_TEST(reader.next().value());
  BOOST_TEST(reader.next().error().text ==
             path + ":2: is not a JSON object; specify an output file of superstep run with JSON "
                    "lines, for a CSV output the .rows.jsonl file beside it");
  BOOST_TEST(result_reader::open(path + ".missing").has_error());
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace superstep::results
