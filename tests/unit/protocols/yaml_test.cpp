// SPDX-License-Identifier: Apache-2.0
// The YAML subset of the yaml_xml protocol, compared with a complete YAML parser.
#include "protocols/protocol_parts.hpp"
#include "protocols/yaml_xml/yaml.hpp"

#include <superstep/protocols/tool_protocol.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <ostream>
#include <random>
#include <vector>

using namespace superstep;

BOOST_AUTO_TEST_SUITE(yaml)

namespace {

struct scalar {
  std::string_view text;
  json::value value;
};
std::ostream& operator<<(std::ostream& out, const scalar& s) {
  return out << s.text;
}

const auto scalars = std::vector<scalar>{
    {"", nullptr},
    {"~", nullptr},
    {"null", nullptr},
    {"true", true},
    {"False", false},
    {"yes", "yes"},
    {"off", "off"},
    {"007", 7},
    {"0x10", 16},
    {"0o17", 15},
    {"-3.25", -3.25},
    {"1e3", 1000},
    {".5", 0.5},
    {"1_000", "1_000"},
    {"2024-01-02", "2024-01-02"},
    {".inf", nullptr},
    {"1e400", nullptr},
    {"1e-400", 0},
    {"-", "-"},
    {"+", "+"},
    {"1.2.3", "1.2.3"},
    {"+9007199254740993", 9'007'199'254'740'993},
    {"+-5", "+-5"},
};

struct refusal {
  std::string_view why;
  std::string_view yaml;
};
std::ostream& operator<<(std::ostream& out, const refusal& r) {
  return out << r.why;
}

const auto refusals = std::vector<refusal>{
    {"line 2: the key \"a\" is repeated", "a: 1\na: 2\n"},
    {"line 3: the key \"city\" is repeated", "where:\n  city: x\n  city: y\n"},
    {"line 2: a key must be a text or number, not a list or mapping", "a: 1\n? [b, c]\n: 2\n"},
    {"line 1: the quote has no end", "a: \"b\n"},
    {"line 2: a colon is missing after the key \"b\"", "a: 1\nb\n"},
    {"line 2: a colon is missing after the key \"null\"", "a: 1\nnull\n"},
    {"line 1: the number \".inf\" is not a mapping", ".inf\n"},
    {"line 2: tabs cannot be used as indentation", "a:\n\tb: 1\n"},
    {"they contain more than one document", "a: 1\n---\nb: 1\n"},
    {"they are nested deeper than 20 levels", "a: [[[[[[[[[[[[[[[[[[[[[[[["},
};

struct body_case {
  std::string_view body;
  std::string_view want; ///< the arguments; empty if the call is malformed
};
std::ostream& operator<<(std::ostream& out, const body_case& b) {
  return out << b.body;
}

const auto bodies = std::vector<body_case>{
    {"\n\ta: 1\n\tb: x\n", R"({"a":1,"b":"x"})"},
    {"\n\ta:\n\t  - 1\n\t\n\tb: x\n\t", R"({"a":[1],"b":"x"})"},
    {"\n\xc2\xa0\xc2\xa0"
     "a: 1\n\xc2\xa0\xc2\xa0"
     "b: x\n",
     R"({"a":1,"b":"x"})"},
    {"\n  \ta: |\n  \t  x\n  \t   y\n", R"({"a":"x\n y\n"})"},
    {"\na:\n\tb: 1\n", ""},
    {"\nnull\n", "{}"},
    {"~", "{}"},
    {"\n---\n", "{}"},
    {"\n# comment\n", "{}"},
    {"\n\n", "{}"},
    {"\n.inf\n", ""},
    {"\n\"\"\n", ""},
    {"\na: |\n  x", R"({"a":"x\n"})"},
    {"\na:\n  - >\n    x\n    y", R"({"a":["x y\n"]})"},
    {"\na: |-\n  x", R"({"a":"x"})"},
};

/// Returns texts that YAML parsers tend to misread.
std::string odd_text(std::minstd_rand& luck) {
  static const auto pieces = std::vector<std::string>{
      "a",  "word", " ",  "  ", "\n",  "\n\n", ":",  ": ",   "#",          " #",
      "- ", "'",    "\"", "\\", "\t",  "[",    "}",  "1",    "0x1",        "true",
      "~",  "é",    "&",  "*",  "|",   ">",    "%",  "@",    "`",          "!",
      "?",  ",",    "<",  "{}", "---", "...",  "\r", "\x01", "a long text"};
  auto out = std::string{};
  for (auto n = luck() % 8; n > 0; --n)
    out += pieces[luck() % pieces.size()];
  return out;
}

json::value odd_value(std::minstd_rand& luck, int depth) {
  switch (luck() % (depth > 0 ? 6 : 4)) {
  case 0:
    return static_cast<std::int64_t>(luck() % 1000);
  case 1:
    return luck() % 2 == 0 ? json::value(nullptr) : json::value(true);
  case 4: {
    auto list = json::array{};
    for (auto n = luck() % 4; n > 0; --n)
      list.push_back(odd_value(luck, depth - 1));
    return list;
  }
  case 5: {
    auto members = json::object{};
    for (auto n = luck() % 4; n > 0; --n)
      members[odd_text(luck)] = odd_value(luck, depth - 1);
    return members;
  }
  default:
    return json::string{odd_text(luck)};
  }
}

} // namespace

BOOST_DATA_TEST_CASE(plain_scalars_are_read_by_yaml_core_schema, scalars) {
  const auto read = read_yaml("a: " + std::string{sample.text} + "\n");
  BOOST_TEST_REQUIRE(plain_scalar(sample.text) == sample.value);
  if (sample.text != "-")
    BOOST_TEST(read.value().at("a") == sample.value);
}

BOOST_DATA_TEST_CASE(malformed_or_too_deep_yaml_is_rejected, refusals) {
  auto limits = yaml_limits{};
  limits.depth_max = 20;
  const auto read = read_yaml(sample.yaml, limits);
  BOOST_TEST_REQUIRE(!read);
  BOOST_TEST(read.error().text == "the YAML arguments are invalid: " + std::string{sample.why});
}

BOOST_DATA_TEST_CASE(common_indentation_and_null_bodies_are_accepted, bodies) {
  const auto protocol = make_protocol("yaml_xml").value();
  auto tools = std::vector<protocol_tool>(1);
  tools.front().name = "f";
  const auto text = "<f>" + std::string{sample.body} + "</f>";
  const auto parts = parse_answer(*protocol, text, tools, {});
  BOOST_TEST_REQUIRE(parts.size() == 1U);
  const auto* call = std::get_if<parsed_call>(&parts.front());
  BOOST_TEST((call != nullptr ? call->arguments : "") == sample.want);
  auto streamed = std::string{};
  const auto stream = protocol->stream(tools, {},
                                       [&](const protocol_event& e) {
                                         if (const auto* c = std::get_if<stream_call>(&e))
                                           streamed = c->parsed.arguments;
                                       },
                                       {});
  for (const auto& c : text)
    stream->write({&c, 1});
  stream->finish();
  BOOST_TEST(streamed == sample.want);
}

BOOST_AUTO_TEST_CASE(stream_waits_for_end_of_unquoted_text) {
  auto tools = std::vector<protocol_tool>(1);
  tools.front().name = "f";
  auto shown = std::string{};
  const auto protocol = make_protocol("yaml_xml").value();
  const auto stream = protocol->stream(tools, {},
                                       [&](const protocol_event& e) {
                                         if (const auto* delta = std::get_if<tool_input_delta>(&e))
                                           shown += delta->text;
                                       },
                                       {});
  for (const auto c : std::string_view{"<f>\na: say \"hi\""})
    stream->write({&c, 1});
  BOOST_TEST(shown.empty(), shown);
  for (const auto c : std::string_view{" now\nb: \"x\""})
    stream->write({&c, 1});
  BOOST_TEST(shown == R"({"a":"say \"hi\" now","b":"x)");
}

BOOST_AUTO_TEST_CASE(value_limit_counts_values_of_aliases) {
  auto limits = yaml_limits{};
  limits.values_max = 20;
  BOOST_TEST(read_yaml("a: &x [1, 2]\nb: [*x, *x]\n", limits).has_value());
  BOOST_TEST(!read_yaml("a: &x [1, 2]\nb: [*x, *x, *x, *x, *x]\n", limits));
}

BOOST_AUTO_TEST_CASE(written_yaml_reads_back_unchanged) {
  auto luck = std::minstd_rand{5};
  for (auto i = 0; i < 10'000; ++i) {
    auto value = json::value(json::object{});
    value.get_object()["k"] = odd_value(luck, 3);
    const auto written = write_yaml(value);
    const auto read = read_yaml(written + '\n');
    BOOST_TEST_REQUIRE(read.has_value(), read.error().text << "\n" << written);
    BOOST_TEST_REQUIRE((*read == value), to_text(value) << "\n" << written);
  }
}

BOOST_AUTO_TEST_CASE(fast_path_reads_same_values_as_full_parser) {
  static const auto pieces = std::vector<std::string>{
      "a: ",  "b: ", "key-2: ", "c:\n", "null: ",    "a:", "|\n",      "|-\n", "  ", " ",     "\n",
      "\n\n", "- ",  "  - ",    "word", "two words", "5",  "-3.5",     "true", "~",  "\"q\"", "'s'",
      "'",    "\"",  "#",       " #",   ": ",        ":",  "x, y",     "[1]",  "{}", "é",     "東",
      "<b>",  "---", "\t",      "?",    "&a",        "%",  "http://x", "\\n",  "-"};
  auto luck = std::minstd_rand{5};
  auto plain = std::size_t{0};
  for (auto i = 0; i < 60'000; ++i) {
    auto text = std::string{i % 2 == 0 ? "a: " : ""};
    for (auto n = luck() % 10; n > 0; --n)
      text += pieces[luck() % pieces.size()];
    if (i % 3 != 0)
      text += '\n';
    const auto fast = read_plain_yaml(text, 1000);
    if (!fast)
      continue;
    ++plain;
    const auto full = read_any_yaml(text);
    BOOST_TEST_REQUIRE(full.has_value(), text << " was rejected: " << full.error().text);
    BOOST_TEST_REQUIRE(to_text(*full) == to_text(*fast), text);
  }
  BOOST_TEST(plain > 1'000U);
}

BOOST_AUTO_TEST_SUITE_END()
