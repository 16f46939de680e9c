// SPDX-License-Identifier: Apache-2.0
// Parsing of incomplete JSON, compared with a slow reference implementation.
#include "messages/partial_json.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <optional>
#include <ostream>
#include <string>
#include <vector>

using namespace superstep;

BOOST_AUTO_TEST_SUITE(partial_json)

namespace {

struct text_case {
  std::string_view name, text, value; ///< expected value as JSON; "" for an error
};
std::ostream& operator<<(std::ostream& out, const text_case& c) {
  return out << c.name;
}

const auto texts = std::vector<text_case>{
    {"whole", R"({"a": [1, "x"]})", R"({"a":[1,"x"]})"},
    {"an open string is closed", R"({"a": "x)", R"({"a":"x"})"},
    {"a backslash that escapes nothing is dropped", R"({"a": "x\)", R"({"a":"x"})"},
    {"an incomplete escape removes its member", R"({"a": 1, "b": "\u00)", R"({"a":1})"},
    {"half a character is no text yet", R"({"a": "x\ud83d)", R"({"a":"x"})"},
    {"half a character and the beginning of its other half", R"({"a": "x\ud83d\)", R"({"a":"x"})"},
    {"an escaped backslash is not a surrogate", R"({"a": "\\ud83d)", R"({"a":"\\ud83d"})"},
    {"a key alone is cut", R"({"a": 1, "b)", R"({"a":1})"},
    {"a colon without a value is cut", R"({"a": 1, "b":)", R"({"a":1})"},
    {"an incomplete literal is removed", R"({"a": 1, "b": tru)", R"({"a":1})"},
    {"a number ends where it is one", R"({"a": 12.)", R"({"a":12})"},
    {"a lone sign is not a number", R"([-)", "[]"},
    {"line breaks in strings", "{\"a\": \"x\ny", R"({"a":"x\ny"})"},
    {"text after the value is removed", R"({"a": 1} x)", R"({"a":1})"},
    {"nested brackets are closed", R"({"a": {"b": [1)", R"({"a":{"b":[1]}})"},
    {"brackets closed earlier complete a removed tail", R"({"a": [1], "b" [)", R"({"a":[1]})"},
    {"a bracket that closes another kind", "{]", "null"},
    {"a comma before a bracket", "[1,]", ""},
    {"a number beyond all numbers", R"({"a": 1e400})", ""},
    {"no JSON at all", "nope", ""},
    {"nothing", "", ""},
};

/// The definition of the result: characters are removed from the end until the closed text is JSON.
/// The fast implementation must agree with it.
std::optional<std::string> by_definition(std::string_view text) {
  auto open = std::string{};
  auto in_string = false;
  auto in_escape = false;
  for (const auto c : text) {
    if (in_escape) {
      in_escape = false;
    } else if (in_string) {
      in_escape = c == '\\';
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      open.insert(open.begin(), c == '{' ? '}' : ']');
    } else if (c == '}' || c == ']') {
      open.erase(open.begin());
    }
  }
  auto closed = std::string{text.substr(0, text.size() - (in_escape ? 1 : 0))};
  closed += in_string ? "\"" : "";
  for (; !closed.empty(); closed.pop_back())
    if (const auto parsed = parse_json(closed + open))
      return to_text(*parsed);
  return std::nullopt;
}

} // namespace

BOOST_DATA_TEST_CASE(incomplete_json_is_parsed_as_far_as_valid, boost::unit_test::data::make(texts),
                     c) {
  const auto read = parse_partial_json(c.text);
  BOOST_TEST(read.has_value() == !c.value.empty());
  if (read)
    BOOST_TEST(to_text(*read) == c.value);
}

BOOST_AUTO_TEST_CASE(every_prefix_gives_same_result_as_slow_algorithm) {
  const auto texts_read = {
      R"({"loc": "x \"y\" z", "n": [1, 2.5e3, null, true], "o": {"p": {"q": []}}, "r": false})",
      R"([[], {}, [{"a": [[1], "b"]}], "c\n", -0.5, 10])"};
  for (const auto* text : texts_read)
    for (auto n = std::size_t{1}; n <= std::string_view{text}.size(); ++n) {
      const auto beginning = std::string_view{text}.substr(0, n);
      const auto want = by_definition(beginning);
      const auto got = parse_partial_json(beginning);
      BOOST_TEST_REQUIRE(got.has_value() == want.has_value(), beginning);
      if (got)
        BOOST_TEST_REQUIRE(to_text(*got) == *want, beginning);
    }
}

BOOST_AUTO_TEST_CASE(long_incomplete_tail_takes_linear_time) {
  // Removing one character at a time would read two megabytes a million times.
  const auto text = R"({"a": 1, "b": "\u00)" + std::string(2'000'000, ' ');
  const auto read = parse_partial_json(text);
  BOOST_REQUIRE(read.has_value());
  BOOST_TEST(to_text(*read) == R"({"a":1})");
}

BOOST_AUTO_TEST_CASE(nesting_beyond_limit_is_rejected) {
  // Values up to the nesting limit can be written and read again.
  for (auto depth = std::size_t{190}; depth < 210; ++depth)
    if (const auto read = parse_partial_json(std::string(depth, '[') + '1'))
      BOOST_TEST(parse_json(to_text(*read)).has_value());
  BOOST_TEST(!parse_partial_json(std::string(100'000, '[')).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
