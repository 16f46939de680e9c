// SPDX-License-Identifier: Apache-2.0
// Parsing of input rows in the three shapes: chat, batch request and native.
#include "batch/input_row.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(input_rows)

namespace {

using namespace superstep;

input_row read(std::string_view line) {
  auto parser = row_parser{};
  return parser.parse(line).value();
}

} // namespace

BOOST_AUTO_TEST_CASE(chat_row_is_read_with_id_and_messages) {
  auto row = read(R"({"custom_id":"a","messages":[{"role":"system","content":"be brief"},)"
                  R"({"role":"user","content":"h\u00e9"}]})");
  BOOST_TEST(row.key_name == "custom_id");
  BOOST_TEST(row.request.key == "a");
  BOOST_TEST(row.request.config.run_id == "a");
  BOOST_TEST(row.request.messages.size() == 2U);
  BOOST_TEST((row.request.messages[0].type == message_type::system));
  BOOST_TEST(row.request.messages[1].content == "hé");
  BOOST_TEST(read(R"({"id":"b","messages":[{"role":"user","content":"x"}]})").key_name == "id");
}

BOOST_AUTO_TEST_CASE(chat_row_keeps_tool_calls_and_content_blocks) {
  auto row =
      read(R"({"id":"b","messages":[{"role":"user","content":[{"type":"text","text":"x"}]},)"
           R"({"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function",)"
           R"("function":{"name":"f","arguments":"{\"a\":1}"}}]},)"
           R"({"role":"tool","tool_call_id":"c1","content":"2"}]})");
  const auto& messages = row.request.messages;
  BOOST_TEST(messages[0].blocks.has_value());
  BOOST_REQUIRE(messages[1].tool_calls.size() == 1U);
  BOOST_TEST(messages[1].tool_calls[0].args.at("a").as_int64() == 1);
  BOOST_TEST(messages[2].tool_call_id == "c1");
}

BOOST_AUTO_TEST_CASE(batch_request_body_sets_messages_and_model_parameters) {
  auto row =
      read(R"({"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":{"model":"m",)"
           R"("messages":[{"role":"user","content":"x"}],"temperature":0.5,"stream":false}})");
  BOOST_TEST((row.shape == row_shape::openai));
  BOOST_TEST(row.request.messages.size() == 1U);
  BOOST_TEST(row.request.parameters.size() == 2U);
  BOOST_TEST(row.request.parameters.at("model").as_string() == "m");
}

BOOST_AUTO_TEST_CASE(native_row_sets_state_thread_config_and_tags) {
  auto row = read(
      R"({"id":"a","input":{"messages":[{"type":"human","content":"x","id":"m1"}],"n":[1,2.5,null]},)"
      R"("thread_id":"t","config":{"recursion_limit":9,"metadata":{"k":true}},"tags":["x"]})");
  BOOST_TEST((row.shape == row_shape::native));
  BOOST_TEST(row.request.messages[0].id == "m1");
  BOOST_TEST(to_text(row.request.input) == R"({"n":[1,2.5,null]})");
  BOOST_TEST(row.request.config.thread_id == "t");
  BOOST_TEST(row.request.config.recursion_limit == 9U);
  BOOST_TEST(row.request.config.metadata.at("k").as_bool());
  BOOST_TEST(row.request.config.tags.size() == 1U);
}

BOOST_AUTO_TEST_CASE(first_row_determines_shape_of_later_rows) {
  auto parser = row_parser{};
  BOOST_TEST(!parser.parse("nonsense").has_value());
  BOOST_TEST(!parser.shape().has_value());
  BOOST_TEST(parser.parse(R"({"id":"a","input":{}})").has_value());
  BOOST_TEST((parser.shape() == row_shape::native));
  BOOST_TEST(!parser.parse(R"({"id":"b","messages":[{"role":"user","content":"x"}]})").has_value());
}

struct bad_row {
  std::string_view name;
  std::string_view line;
  std::string_view expected;
};
std::ostream& operator<<(std::ostream& out, const bad_row& c) {
  return out << c.name;
}

const auto bad_rows = std::vector<bad_row>{
    {"no known shape", R"({"id":"a","text":"b"})",
     R"(the member "messages" (chat row), "input" (native row) or "body" (batch request), but has )"
     R"(only "id", "text")"},
    {"no member", "{}", "but has no members"},
    {"a text as state", R"({"id":"a","input":"hi"})",
     R"("input" must be an object with the initial state, such as {"messages": […]})"},
    {"part of a value", R"({"id":"a",)",
     "not JSON: each line must be one complete JSON object, not"},
    {"a line of a CSV", "r1,a,b", "not \"r1,a,b\"; a CSV needs --input-format csv"},
    {"an invalid escape", R"({"id":"\x"})", "not JSON (Problem while parsing a string): each line"},
    {"both keys", R"({"id":"a","custom_id":"a","messages":[{"role":"user","content":"x"}]})",
     "both"},
    {"empty key", R"({"id":"","messages":[{"role":"user","content":"x"}]})", "non-empty"},
    {"number as key", R"({"id":7,"messages":[{"role":"user","content":"x"}]})",
     "for integers, use --id-field id"},
    {"list as key", R"({"id":[],"messages":[{"role":"user","content":"x"}]})", "non-empty string"},
    {"doubled member", R"({"id":"a","id":"b","messages":[{"role":"user","content":"x"}]})",
     "duplicate member"},
    {"no messages", R"({"id":"a","messages":[]})", "at least one"},
    {"unknown role", R"({"id":"a","messages":[{"role":"wizard","content":"x"}]})", "messages[0]"},
    {"text as messages", R"({"id":"a","messages":"x"})", "a list of messages"},
    {"wrong method", R"({"custom_id":"a","method":"GET","url":"/v1/chat/completions","body":{}})",
     "POST"},
    {"wrong url", R"({"custom_id":"a","method":"POST","url":"/v1/embeddings","body":{}})",
     "/v1/chat/completions"},
    {"missing url", R"({"custom_id":"a","method":"POST","body":{}})", "url"},
    {"streaming",
     R"({"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":{"stream":true}})",
     "body.stream"},
    {"tools in the body",
     R"({"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":{"tools":[]}})",
     "agent file"},
    {"many answers",
     R"({"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":{"n":2}})", "body.n"},
    {"unknown config", R"({"id":"a","input":{},"config":{"speed":1}})", "config.speed"},
    {"zero recursion limit", R"({"id":"a","input":{},"config":{"recursion_limit":0}})",
     "recursion_limit"},
    {"state as a list", R"({"id":"a","input":[]})", "an object"},
    {"tags of numbers", R"({"id":"a","input":{},"tags":[1]})", "tags"},
};

BOOST_DATA_TEST_CASE(invalid_row_is_rejected_with_reason, boost::unit_test::data::make(bad_rows),
                     c) {
  auto parser = row_parser{};
  auto refused = parser.parse(c.line);
  BOOST_REQUIRE(!refused.has_value());
  BOOST_TEST(refused.error().text.find(c.expected) != std::string::npos, refused.error().text);
}

BOOST_AUTO_TEST_CASE(key_of_row_is_found_without_its_format) {
  struct key_case {
    std::string_view row;
    std::string_view expected;
  };
  for (const auto& c : std::vector<key_case>{
           {R"({"custom_id":"a","input":"a column of a table"})", "a"},
           {R"({"custom_id":"a","input":["a column"]})", "a"},
           {R"({"custom_id":"a column","input":{},"id":"b"})", "b"},
           {R"({"custom_id":"a column","input":{}})", "7"},
           {R"({"custom_id":"a","url":"/v1","input":{},"id":"b"})", "a"},
           {R"({"id":18446744073709551615,"input":"x"})", "18446744073709551615"},
           {R"({"input":"x"})", "7"},
       })
    BOOST_TEST(find_row_key(parse_json(c.row).value().as_object(), "", 7) == c.expected, c.row);
}

BOOST_AUTO_TEST_CASE(column_row_has_integer_of_any_size_as_key) {
  auto format = detail::row_format{};
  format.id_field = "nr";
  auto parser = row_parser{format};
  for (const auto* number : {"-9223372036854775808", "7", "18446744073709551615"}) {
    const auto line =
        R"({"messages":[{"role":"user","content":"x"}],"nr":)" + std::string{number} + '}';
    const auto row = parser.parse(line);
    BOOST_REQUIRE_MESSAGE(row.has_value(), row.error().text);
    BOOST_TEST(row->request.key == number);
  }
  BOOST_TEST(!parser.parse(R"({"messages":[{"role":"user","content":"x"}],"nr":1.5})").has_value());
}

BOOST_AUTO_TEST_SUITE_END()
