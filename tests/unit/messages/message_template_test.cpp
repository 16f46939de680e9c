// SPDX-License-Identifier: Apache-2.0
// Templates of conversations: placeholders, escapes, content blocks and errors.
#include <superstep/messages/message_json.hpp>
#include <superstep/messages/message_template.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <map>

BOOST_AUTO_TEST_SUITE(message_templates)

namespace {

using namespace superstep;

result<message_template> parse(std::string_view text) {
  return message_template::parse(parse_json(text).value().as_array(), "input.messages");
}

result<message_list> fill(const message_template& of, std::map<std::string, std::string> values) {
  return of.fill([&](std::string_view name) -> std::optional<std::string> {
    const auto found = values.find(std::string{name});
    return found != values.end() ? std::optional{found->second} : std::nullopt;
  });
}

} // namespace

struct filled_case {
  std::string_view text, expected;
};
std::ostream& operator<<(std::ostream& out, const filled_case& c) {
  return out << c.text;
}

const auto filled_cases = std::vector<filled_case>{
    {"no placeholder", "no placeholder"},
    {"{{a}}", "1"},
    {"x{{ a }}y{{b c}}z{{a}}", "x1y2z1"},
    {"{single} }} braces", "{single} }} braces"},
    {"{{{{a}}", "{{a}}"},
    {"{\\\"k\\\": {{a}}}", "{\"k\": 1}"},
    {"{{{a}}}", "{1}"},
    {"{{{{{{a}}", "{{1"},
    {"ends with {", "ends with {"},
};

BOOST_DATA_TEST_CASE(text_is_filled_with_columns, boost::unit_test::data::make(filled_cases), c) {
  const auto parsed =
      parse(R"([{"role":"user","content":")" + std::string{c.text} + R"("}])").value();
  const auto filled = fill(parsed, {{"a", "1"}, {"b c", "2"}}).value();
  BOOST_TEST(filled[0].content == c.expected);
}

BOOST_AUTO_TEST_CASE(braces_in_a_column_are_not_placeholders) {
  const auto parsed = parse(R"([{"role":"user","content":"{{a}}"}])").value();
  BOOST_TEST(fill(parsed, {{"a", "{{b}} \"\n"}}).value()[0].content == "{{b}} \"\n");
}

BOOST_AUTO_TEST_CASE(placeholders_in_content_blocks_are_filled) {
  const auto parsed =
      parse(R"([{"role":"system","content":"Be brief."},{"role":"user","content":[)"
            R"({"type":"text","text":"Look: {{q}}"},)"
            R"({"type":"image_url","image_url":{"url":"{{url}}","detail":"low"}}]}])")
          .value();
  const auto filled = fill(parsed, {{"q", "what?"}, {"url", "https://x/y.png"}}).value();
  BOOST_REQUIRE(filled.size() == 2U);
  const auto text = to_text(json::value(to_json(filled[1])));
  BOOST_TEST(text.find("Look: what?") != std::string::npos, text);
  BOOST_TEST(text.find("https://x/y.png") != std::string::npos, text);
  BOOST_TEST(parsed.placeholders().back().name == "url");
  BOOST_TEST(parsed.placeholders().back().where == "input.messages.1.content.1.image_url.url");
}

BOOST_AUTO_TEST_CASE(missing_column_is_reported_with_its_place) {
  auto parsed = parse(R"([{"role":"user","content":"{{a}} {{b}}"}])").value();
  parsed.move_places([](const std::string& where) { return "agent.yaml:3: " + where; });
  const auto refused = fill(parsed, {{"a", "1"}});
  BOOST_REQUIRE(!refused.has_value());
  BOOST_TEST(refused.error().text ==
             R"(the row has no member "b", which agent.yaml:3: input.messages.0.content needs)");
}

const auto wrong_cases = std::vector<filled_case>{
    {R"([])", "input.messages: must be a list of at least one message"},
    {R"([{"role":"user","content":"{{a"}])", "input.messages.0.content: {{ has no }}"},
    {R"([{"role":"user","content":"{{}}"}])", "{{}} is not the name of a column"},
    {R"([{"role":"user","content":"{{a{b}}"}])", "{{a{b}} is not the name of a column"},
    {R"([{"role":"wizard","content":"x"}])", "input.messages.0"},
    {R"([{"role":"user","content":[{"type":"text","text":"{{"}]}])",
     "input.messages.0.content.0.text: {{ has no }}"},
};

BOOST_DATA_TEST_CASE(invalid_template_is_rejected_with_its_place,
                     boost::unit_test::data::make(wrong_cases), c) {
  const auto refused = parse(c.text);
  BOOST_REQUIRE(!refused.has_value());
  BOOST_TEST(refused.error().text.find(c.expected) != std::string::npos, refused.error().text);
}

BOOST_AUTO_TEST_SUITE_END()
