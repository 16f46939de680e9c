// SPDX-License-Identifier: Apache-2.0
// A stream emits arguments only once nothing that follows can change them, so that each call is one
// input.
#include <superstep/base/json.hpp>
#include <superstep/protocols/tool_protocol.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <ostream>

using namespace superstep;

BOOST_AUTO_TEST_SUITE(shown_arguments)

namespace {

struct shown_case {
  std::string_view protocol;
  std::string_view body;
  std::string_view arguments;
  std::string_view properties;
};
std::ostream& operator<<(std::ostream& out, const shown_case& c) {
  return out << c.protocol << ' ' << c.body;
}

constexpr auto plain =
    R"({"title":{"type":"string"},"pace":{"type":"string","enum":["very slow","brisk","very fast"]},
        "words":{"type":"array","items":{"type":"string"}},
        "rows":{"type":"array","items":{"type":"array","items":{"type":"number"}}},
        "jobs":{"type":"array","items":{"type":"object","properties":{"who":{"type":"string"}},
                                        "additionalProperties":false}}})";
constexpr auto shell =
    R"({"command":{"type":"array","items":{"type":"string"}},"user":{"type":"string"},
        "cwd":{"type":"string"}})";

const auto shown_cases = std::vector<shown_case>{
    // Comments between a key and its value.
    {"yaml_xml", "\nwords:\n  # c\n  - a # d\n  - b\n", R"({"words":["a","b"]})", plain},
    {"yaml_xml", "\nwords: # c\n  - a\ntitle: t\n", R"({"words":["a"],"title":"t"})", plain},
    // Enum values written with other white space or in quotes. White space around a member is kept.
    {"morph_xml", "<pace>very   slow</pace>", R"({"pace":"very slow"})", plain},
    {"morph_xml", "<pace> brisk </pace>", R"({"pace":" brisk "})", plain},
    {"morph_xml", "<pace>'very fast'</pace>", R"({"pace":"very fast"})", plain},
    {"morph_xml", "<pace>none of them</pace>", R"({"pace":"none of them"})", plain},
    {"qwen3_coder", "<parameter=pace>\nvery\n slow\n</parameter>", R"({"pace":"very slow"})",
     plain},
    // The first of several elements that parses as a list by itself.
    {"morph_xml", "<words>[1]</words><words>b</words>", R"({"words":["[1]","b"]})", plain},
    {"morph_xml", "<words>a,b</words><words>c</words>", R"({"words":["a,b","c"]})", plain},
    {"morph_xml", "<words>a,b</words><title>t</title>", R"({"words":["a","b"],"title":"t"})",
     plain},
    {"qwen3_coder", "<parameter=rows>[7,5]</parameter>\n<parameter=rows>[8,9.25]</parameter>",
     R"({"rows":[[7,5],[8,9.25]]})", plain},
    {"qwen3_coder", "<parameter=words>a\nb</parameter>\n<parameter=words>c</parameter>",
     R"({"words":["a\nb","c"]})", plain},
    // Close tags without an open tag, and text where an object is expected.
    {"morph_xml", "<title>abc</pace>", R"({"title":"abc"})", plain},
    {"morph_xml", "<title>a <b>c</b> d</title>", R"({"title":"a <b>c</b> d"})", plain},
    {"morph_xml", "<jobs>soon</jobs>", R"({"jobs":[{}]})", plain},
    {"morph_xml", "<jobs>now</jobs><jobs><who>A</who></jobs>", R"({"jobs":[{},{"who":"A"}]})",
     plain},
    // Comments and CDATA sections: tags in them are ignored, and their text is kept.
    {"morph_xml", "<title><![CDATA[a</title>b]]></title>", R"({"title":"<![CDATA[a</title>b]]>"})",
     plain},
    {"morph_xml", "<title>1 <![CDATA[a > b</title> c</title> d]]> 2</title>",
     R"({"title":"1 <![CDATA[a > b</title> c</title> d]]> 2"})", plain},
    {"morph_xml", "<title>x <!-- </title> --> y</title><pace>brisk</pace>",
     R"({"title":"x <!-- </title> --> y","pace":"brisk"})", plain},
    {"morph_xml", "<title>x <!-- y</title><pace>brisk</pace>",
     R"({"title":"x <!-- y","pace":"brisk"})", plain},
    // Repeated elements in a call of a shell tool: the last one is used.
    {"morph_xml", "<command>a</command><user>x</user><user>y</user><user>z</user>",
     R"({"command":["a"],"user":"z"})", shell},
    {"morph_xml", "<user>x</user><command>a</command><cwd>1</cwd><user>y</user><cwd>2</cwd>",
     R"({"command":["a"],"user":"y","cwd":"2"})", shell},
    {"morph_xml", "<command>a</command><cwd>/srv</cwd>", R"({"command":["a"],"cwd":"/srv"})",
     shell},
};

std::vector<protocol_tool> tools_with(std::string_view properties) {
  auto schema = json::object{{"type", "object"}};
  schema["properties"] = parse_json(properties).value();
  auto tool = protocol_tool{};
  tool.name = "job";
  tool.schema = std::move(schema);
  return {std::move(tool)};
}

std::string text_of(const shown_case& c) {
  const auto body = std::string{c.body};
  return c.protocol == "qwen3_coder"
             ? "<tool_call>\n<function=job>\n" + body + "\n</function>\n</tool_call>"
             : "<job>" + body + "</job>";
}

} // namespace

BOOST_DATA_TEST_CASE(stream_starts_one_tool_input_per_call,
                     boost::unit_test::data::make(shown_cases), c) {
  const auto tools = tools_with(c.properties);
  const auto text = text_of(c);
  const auto protocol = make_protocol(c.protocol).value();
  for (const auto piece : {std::size_t{1}, std::size_t{3}, text.size()}) {
    auto starts = 0;
    auto deltas = std::string{};
    auto calls = std::vector<std::string>{};
    const auto reader =
        protocol->stream(tools, {},
                         [&](const protocol_event& e) {
                           starts += std::holds_alternative<tool_input_start>(e) ? 1 : 0;
                           if (const auto* delta = std::get_if<tool_input_delta>(&e))
                             deltas += delta->text;
                           if (const auto* call = std::get_if<stream_call>(&e))
                             calls.push_back(call->parsed.arguments);
                         },
                         {});
    for (auto at = std::size_t{0}; at < text.size(); at += piece)
      reader->write(std::string_view{text}.substr(at, piece));
    reader->finish();
    BOOST_TEST_REQUIRE(calls.size() == 1U, "pieces of " << piece);
    BOOST_TEST(parse_json(calls[0]).value() == parse_json(c.arguments).value(),
               "pieces of " << piece << ": " << calls[0]);
    BOOST_TEST(starts == 1, "pieces of " << piece);
    BOOST_TEST(deltas == calls[0]);
  }
}

BOOST_AUTO_TEST_CASE(white_space_before_qwen_tags_may_be_cut_anywhere) {
  const auto tools = tools_with(R"({"title":{"type":"string"}})");
  const auto protocol = make_protocol("qwen3_coder").value();
  const auto read = [&](const std::vector<std::string_view>& pieces) {
    auto out = std::string{};
    const auto reader =
        protocol->stream(tools, {},
                         [&](const protocol_event& e) {
                           if (const auto* more = std::get_if<stream_text>(&e))
                             out += more->text;
                           if (const auto* call = std::get_if<stream_call>(&e))
                             out += '[' + call->parsed.name + call->parsed.arguments + ']';
                         },
                         {});
    for (const auto piece : pieces)
      reader->write(piece);
    reader->finish();
    return out;
  };
  const auto begin = std::string{"<tool_call><function=job><parameter=title>"};
  const auto close = std::string{"</parameter></function></tool_call>"};
  const auto single = std::string{"<function=job></function>"};
  const auto spaces = std::string(70, ' ');
  const auto texts = std::vector<std::string>{
      "<call>" + spaces + "<name>job</name></call>",
      "<call>\xe3\x80\x80<name>job</name></call>",
      single + spaces + "</tool_call>",
      single + "\xe3\x80\x80</tool_call>after",
      single + " \xc2\xa0</tool_call>",
      begin + "xyz\n\xc2\xa0" + close,
      begin + "\xe3\x80\x80 x&amp;\xc2\xa0y \xe2\x80\x89" + close,
  };
  for (const auto& text : texts) {
    const auto whole = read({text});
    for (auto at = std::size_t{1}; at < text.size(); ++at) {
      const auto view = std::string_view{text};
      BOOST_TEST(read({view.substr(0, at), view.substr(at)}) == whole, text << " cut at " << at);
    }
  }
  BOOST_TEST(read({texts[3]}) == "[job{}]after");
  BOOST_TEST(read({texts[5]}) == R"([job{"title":"xyz"}])");
}

BOOST_AUTO_TEST_CASE(call_with_repeated_string_parameter_is_rejected) {
  const auto tools = tools_with(R"({"command":{"type":"string"},"user":{"type":"string"}})");
  const auto text = "<job><command>a</command><user>x</user><user>y</user></job>";
  auto errors = std::vector<std::string>{};
  const auto parts =
      make_protocol("morph_xml").value()->parse(text, tools, [&](const protocol_error& e) {
        errors.push_back(e.code);
      });
  BOOST_TEST_REQUIRE(parts.size() == 1U);
  BOOST_TEST(std::holds_alternative<parsed_text>(parts[0]));
  BOOST_TEST(errors == std::vector<std::string>{"malformed-tool-call-body"});
}

BOOST_AUTO_TEST_SUITE_END()
