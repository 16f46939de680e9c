// SPDX-License-Identifier: Apache-2.0
// A stream parses most calls while they arrive and only the rest at the end. Both paths must return
// the same call for any content.
#include <superstep/protocols/tool_protocol.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <ostream>
#include <random>

using namespace superstep;

BOOST_AUTO_TEST_SUITE(one_call)

namespace {

std::vector<protocol_tool> tools() {
  auto out = std::vector<protocol_tool>(1);
  out.front().name = "f";
  out.front().schema = json::parse(R"({"type":"object","properties":{"s":{"type":"string"},
      "e":{"type":"string","enum":["one","t w o"]},"n":{"type":"integer"},"b":{"type":"boolean"},
      "l":{"type":"array","items":{"type":"string"}},
      "m":{"type":"array","items":{"type":"object","additionalProperties":false,
           "properties":{"s":{"type":"string"},"n":{"type":"number"}}}},
      "o":{"type":"object","properties":{"n":{"type":"number"}}}}})");
  return out;
}

/// Tags and texts of one protocol, from which random calls are composed.
struct language {
  std::string protocol;
  std::string open;
  std::string close;
  std::vector<std::string> open_parameter; ///< including the key
  std::string behind_key;
  std::string before_close; ///< of a parameter, including the key
  std::string behind_close;
  bool close_has_key;
};
std::ostream& operator<<(std::ostream& out, const language& l) {
  return out << l.protocol;
}
const auto languages =
    std::vector<language>{{"morph_xml", "<f>", "</f>", {"<"}, ">", "</", ">", true},
                          {"qwen3_coder",
                           "<tool_call><function=f>",
                           "</function></tool_call>",
                           {"<parameter=", "<param name=\"", "<parameter="},
                           ">",
                           "</parameter>",
                           "",
                           false},
                          {"yaml_xml", "<f>", "</f>", {"\n"}, ": ", "\n", "", false}};

std::string odd_call(const language& l, std::minstd_rand& luck) {
  static const auto keys = std::vector<std::string>{"s", "e", "n", "b", "l", "m", "o", "x"};
  static const auto values =
      std::vector<std::string>{"one",  "t w o",        " two ",    "\"one\"", "12",
                               "-3.5", "true",         "a, b",     "[\"x\"]", "[1]",
                               "{}",   "&lt;",         "&am",      "é",       "",
                               "\n",   "  ",           "<n>1</n>", "<i/>",    "null",
                               "a\nb", "<s>t",         "]]>",      "</",      "<![CDATA[c]]>",
                               "<!--", "{\"n\":\"2\"}"};
  auto out = std::string{};
  auto key = keys[luck() % keys.size()];
  for (auto n = 1 + luck() % 4; n > 0; --n) {
    if (luck() % 4 != 0)
      key = keys[luck() % keys.size()];
    const auto& open = l.open_parameter[luck() % l.open_parameter.size()];
    out += open + key + (open.ends_with('"') ? "\"" : "") + l.behind_key;
    for (auto k = luck() % 3; k > 0; --k)
      out += values[luck() % values.size()];
    if (luck() % 12 != 0)
      out += l.before_close + (l.close_has_key ? key : "") + l.behind_close;
    if (luck() % 12 == 0)
      out += values[luck() % values.size()];
  }
  return l.open + out + l.close;
}

std::vector<std::string> streamed(const tool_protocol& protocol, std::string_view text,
                                  const std::vector<protocol_tool>& known, std::size_t piece) {
  auto out = std::vector<std::string>{};
  const auto stream = protocol.stream(known, {},
                                      [&](const protocol_event& e) {
                                        if (const auto* call = std::get_if<stream_call>(&e))
                                          out.push_back(call->parsed.arguments);
                                      },
                                      {});
  for (auto at = std::size_t{0}; at < text.size(); at += piece)
    stream->write(text.substr(at, piece));
  stream->finish();
  return out;
}

} // namespace

BOOST_DATA_TEST_CASE(streamed_text_gives_same_call_as_complete_text, languages, l) {
  const auto protocol = make_protocol(l.protocol).value();
  const auto known = tools();
  auto luck = std::minstd_rand{17};
  auto compared = std::size_t{0};
  for (auto i = 0; i < 12'000; ++i) {
    const auto text = odd_call(l, luck);
    auto whole = std::vector<std::string>{};
    for (const auto& part : protocol->parse(text, known, {}))
      if (const auto* call = std::get_if<parsed_call>(&part))
        whole.push_back(call->arguments);
    if (whole.size() != 1)
      continue;
    ++compared;
    BOOST_TEST_REQUIRE(streamed(*protocol, text, known, text.size()) == whole, text);
    BOOST_TEST_REQUIRE(streamed(*protocol, text, known, 1) == whole, text);
  }
  BOOST_TEST(compared > 4'000U);
}

BOOST_AUTO_TEST_SUITE_END()
