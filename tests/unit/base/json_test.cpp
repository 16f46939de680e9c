// SPDX-License-Identifier: Apache-2.0
// Parsing and writing of JSON: round trips, error locations, limits.
#include <superstep/base/json.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <ostream>
#include <string>
#include <vector>

namespace json = superstep::json;
using superstep::parse_json;
using superstep::to_text;

BOOST_AUTO_TEST_SUITE(json_text)

namespace {

struct text_case {
  std::string_view text;
  std::string_view written;
};
std::ostream& operator<<(std::ostream& out, const text_case& c) {
  return out << c.text;
}

const auto round_trips = std::vector<text_case>{
    {"null", "null"},
    {" true ", "true"},
    {"[]", "[]"},
    {"{ }", "{}"},
    {"18", "18"},
    {"18.0", "18.0"},
    {"-0.0", "-0.0"},
    {"0.1", "0.1"},
    {"0.30000000000000004", "0.30000000000000004"},
    {"1e300", "1e+300"},
    {"1e-7", "1e-07"},
    {"0.0001", "0.0001"},
    {"1000000.0", "1000000.0"},
    {"1e15", "1000000000000000.0"},
    {"1e16", "1e+16"},
    {"9223372036854775807", "9223372036854775807"},
    {"-9223372036854775808", "-9223372036854775808"},
    {"18446744073709551615", "18446744073709551615"},
    {R"({"b":1,"a":[1,2.5,"x"]})", R"({"b":1,"a":[1,2.5,"x"]})"},
    {R"("\u00e9\n\t\"\\\/\u0001")", "\"\xc3\xa9\\n\\t\\\"\\\\/\\u0001\""},
    {R"("\ud83d\ude00")", "\"\xf0\x9f\x98\x80\""},
};

struct fault_case {
  std::string text;
  std::string_view part; ///< expected part of the error text
};
std::ostream& operator<<(std::ostream& out, const fault_case& c) {
  return out << c.text;
}

const auto faults = std::vector<fault_case>{
    {"", "at byte 0"},
    {"{\"a\": }", "at byte 6"},
    {"{\"a\": 1", "at byte 7"},
    {"[1, 2", "at byte 5"},
    {"nul", "at byte 3"},
    {"{} x", "at byte 3, near `{} x`"},
    {R"({"a":1,"b":{"c":1,"c":2}})", R"(the key "c" appears twice)"},
    {R"({"a":1,"\u0061":2})", R"(the key "a" appears twice)"},
    {"[1, 123456789012345678901234567890]", "a number is out of range"},
    {"[1e999]", "out of range"},
    {"\"\xff\xfe\"", "is not UTF-8: byte 0xFF at offset 1"},
    {"\"a\nb\"", "at byte 2"},
    {std::string(1000, '['), "at byte 200"},
};

} // namespace

BOOST_DATA_TEST_CASE(parsed_json_is_written_back_compactly,
                     boost::unit_test::data::make(round_trips), c) {
  const auto value = parse_json(c.text);
  BOOST_REQUIRE(value.has_value());
  BOOST_TEST(to_text(*value) == c.written);
}

BOOST_DATA_TEST_CASE(invalid_json_error_describes_the_fault, boost::unit_test::data::make(faults),
                     c) {
  const auto value = parse_json(c.text);
  BOOST_REQUIRE(value.has_error());
  BOOST_TEST_INFO(value.error().text);
  BOOST_TEST(value.error().text.find(c.part) != std::string::npos);
}

BOOST_AUTO_TEST_CASE(integers_stay_integers_and_doubles_stay_doubles) {
  const auto value = parse_json("[1, 1.0, 18446744073709551615]");
  BOOST_REQUIRE(value.has_value());
  BOOST_TEST(value->at(0).is_int64());
  BOOST_TEST(value->at(1).is_double());
  BOOST_TEST(value->at(2).is_uint64());
}

BOOST_AUTO_TEST_CASE(random_finite_doubles_round_trip_exactly) {
  auto bits = std::uint64_t{0x9e3779b97f4a7c15U};
  for (auto i = 0; i < 2000; ++i) {
    bits ^= bits << 13U;
    bits ^= bits >> 7U;
    bits ^= bits << 17U;
    auto d = 0.0;
    static_assert(sizeof d == sizeof bits);
    std::memcpy(&d, &bits, sizeof d);
    if (!std::isfinite(d))
      continue;
    const auto again = parse_json(to_text(json::value(d)));
    BOOST_REQUIRE(again.has_value());
    BOOST_REQUIRE(again->is_double());
    BOOST_TEST(again->get_double() == d);
  }
}

BOOST_AUTO_TEST_CASE(infinities_and_nan_are_written_as_null) {
  BOOST_TEST(to_text(json::value(std::numeric_limits<double>::infinity())) == "null");
  BOOST_TEST(to_text(json::value(std::numeric_limits<double>::quiet_NaN())) == "null");
}

BOOST_AUTO_TEST_CASE(empty_text_is_not_valid_json) {
  BOOST_TEST(!parse_json(std::string_view{}));
  BOOST_TEST(!parse_json(""));
}

BOOST_AUTO_TEST_CASE(text_over_size_or_depth_limit_is_rejected) {
  BOOST_TEST(parse_json("[[1]]", {.bytes_max = 100, .depth_max = 1}).has_error());
  BOOST_TEST(parse_json("[[1]]", {.bytes_max = 100, .depth_max = 3}).has_value());
  const auto large = parse_json("[1,2,3]", {.bytes_max = 6, .depth_max = 10});
  BOOST_REQUIRE(large.has_error());
  BOOST_TEST((large.error().code == superstep::errc::too_large));
}

// The writer examines eight bytes at a time, so each ASCII character is tested at each offset.
BOOST_AUTO_TEST_CASE(every_ascii_character_round_trips_at_every_offset) {
  auto wrong = 0;
  for (auto size = std::size_t{1}; size < 36; ++size)
    for (auto at = std::size_t{0}; at < size; ++at)
      for (auto c = 0; c < 0x80; ++c) {
        auto text = std::string(size, c % 2 == 0 ? 'x' : '~');
        text[at] = static_cast<char>(c);
        text[size - 1 - at] = '"';
        const auto again = parse_json(to_text(json::value(text)));
        wrong += again && again->is_string() && again->get_string() == text ? 0 : 1;
      }
  BOOST_TEST(wrong == 0);
  BOOST_TEST(to_text(json::value("é\"\x01\\ü\n1234567\x1f")) ==
             "\"é\\\"\\u0001\\\\ü\\n1234567\\u001f\"");
}

BOOST_AUTO_TEST_CASE(small_text_parses_after_a_large_one) {
  const auto long_text = '"' + std::string(3'000'000, 'x') + '"';
  BOOST_TEST(parse_json(long_text)->get_string().size() == 3'000'000U);
  BOOST_TEST(parse_json("[7]")->at(0).get_int64() == 7);
}

BOOST_AUTO_TEST_CASE(canonical_text_sorts_keys) {
  const auto one = parse_json(R"({"b":1,"a":{"d":2,"c":[{"z":1,"y":2}]}})");
  const auto other = parse_json(R"({"a":{"c":[{"y":2,"z":1}],"d":2},"b":1})");
  BOOST_TEST(superstep::to_canonical_text(*one) == superstep::to_canonical_text(*other));
  BOOST_TEST(superstep::to_canonical_text(*one) == R"({"a":{"c":[{"y":2,"z":1}],"d":2},"b":1})");
}

BOOST_AUTO_TEST_SUITE_END()
