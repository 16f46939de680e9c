// SPDX-License-Identifier: Apache-2.0
// Calls of a history are read back unchanged, whatever their texts contain.
#include "protocols/protocol_parts.hpp"
#include "protocols/relaxed_json.hpp"

#include <superstep/protocols/tool_protocol.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <random>

using namespace superstep;

BOOST_AUTO_TEST_SUITE(round_trip)

namespace {

std::vector<protocol_tool> tools() {
  auto out = std::vector<protocol_tool>(1);
  out.front().name = "f";
  out.front().schema = json::parse(
      R"({"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}}})");
  return out;
}

std::string odd_text(std::minstd_rand& luck) {
  static const auto pieces = std::vector<std::string>{"a",
                                                      " ",
                                                      "\n",
                                                      "<",
                                                      ">",
                                                      "</",
                                                      "/>",
                                                      "<f>",
                                                      "<f/>",
                                                      "<a>",
                                                      "</a>",
                                                      "]]>",
                                                      "<![CDATA[",
                                                      "&",
                                                      "&lt;",
                                                      "&amp;amp;",
                                                      "<tool_call>",
                                                      "<function=f>",
                                                      "</parameter>",
                                                      "<parameter=a>",
                                                      "\"",
                                                      "'",
                                                      "{",
                                                      "}",
                                                      "\\",
                                                      ": ",
                                                      "#",
                                                      "é",
                                                      "<!--",
                                                      "5",
                                                      "true"};
  // An end that no protocol trims.
  auto out = std::string{"x"};
  for (auto n = luck() % 9; n > 0; --n)
    out += pieces[luck() % pieces.size()];
  return out + 'x';
}

std::string calls_of(const std::vector<parsed_part>& parts) {
  auto out = std::string{};
  for (const auto& part : parts)
    if (const auto* call = std::get_if<parsed_call>(&part))
      out += call->name + call->arguments;
    else
      out += std::get<parsed_text>(part).text;
  return out;
}

} // namespace

// yaml_xml is left out: it does not escape anything, so a text that contains its close tag cannot
// be represented.
BOOST_DATA_TEST_CASE(arguments_with_markup_survive_writing_and_parsing,
                     (std::vector<std::string>{"hermes", "morph_xml", "qwen3_coder"})) {
  const auto protocol = make_protocol(sample).value();
  const auto known = tools();
  auto luck = std::minstd_rand{3};
  for (auto i = 0; i < 2'000; ++i) {
    auto arguments = json::object{};
    arguments["a"] = odd_text(luck);
    arguments["b"] = odd_text(luck);
    const auto text = protocol->format_call("f", to_text(arguments));
    const auto want = "f" + to_text(arguments);
    BOOST_TEST_REQUIRE(calls_of(parse_answer(*protocol, text, known, {})) == want);
    auto streamed = std::vector<parsed_part>{};
    auto deltas = std::string{};
    const auto stream =
        protocol->stream(known, {},
                         [&](const protocol_event& e) {
                           if (const auto* t = std::get_if<stream_text>(&e))
                             streamed.emplace_back(parsed_text{t->text});
                           else if (const auto* c = std::get_if<stream_call>(&e))
                             streamed.emplace_back(c->parsed);
                           else if (const auto* d = std::get_if<tool_input_delta>(&e))
                             deltas += d->text;
                         },
                         {});
    for (const auto& c : text)
      stream->write({&c, 1});
    stream->finish();
    BOOST_TEST_REQUIRE(calls_of(streamed) == want);
    BOOST_TEST_REQUIRE("f" + deltas == want, "nothing was shown that had to be sent anew");
  }
}

BOOST_DATA_TEST_CASE(integers_of_64_bits_stay_exact,
                     (std::vector<std::string>{"hermes", "morph_xml", "qwen3_coder", "yaml_xml"})) {
  const auto protocol = make_protocol(sample).value();
  auto known = std::vector<protocol_tool>(1);
  known.front().name = "f";
  known.front().schema = json::parse(R"({"type":"object","properties":{"i":{"type":"integer"},
      "s":{"type":"string"},"list":{"type":"array","items":{"type":"integer"}}}})");
  const auto arguments = json::parse(R"({"i":9007199254740993,"s":"1234567890123456789",
      "list":[-9223372036854775808,18446744073709551615]})");
  const auto want = "f" + to_text(arguments);
  const auto text = protocol->format_call("f", to_text(arguments));
  BOOST_TEST(calls_of(parse_answer(*protocol, text, known, {})) == want);
  // a model may write the text as a number
  const auto numbers = std::string{R"({"i":"9007199254740993","s":1234567890123456789,)"} +
                       R"("list":["-9223372036854775808",18446744073709551615]})";
  const auto bare = protocol->format_call("f", numbers);
  BOOST_TEST(calls_of(parse_answer(*protocol, bare, known, {})) == want);
}

BOOST_AUTO_TEST_SUITE_END()
