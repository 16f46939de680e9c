// SPDX-License-Identifier: Apache-2.0
// Validation and repair of UTF-8.
#include "base/utf8.hpp"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

using superstep::find_encoding_fault;
using superstep::find_yaml_encoding_fault;
using superstep::is_utf8;
using superstep::shortened;
using superstep::valid_utf8;

BOOST_AUTO_TEST_SUITE(utf8)

BOOST_AUTO_TEST_CASE(valid_text_is_unchanged) {
  for (const auto* text : {"", "plain", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80 end"})
    BOOST_TEST((is_utf8(text) && valid_utf8(text) == text));
}

BOOST_AUTO_TEST_CASE(each_invalid_byte_becomes_a_replacement_character) {
  BOOST_TEST(valid_utf8("a\xff"
                        "b") == "a\xef\xbf\xbd"
                                "b");
  BOOST_TEST(!is_utf8("caf\xe9"));
  BOOST_TEST(valid_utf8("\xc3") == "\xef\xbf\xbd");
  BOOST_TEST(valid_utf8("\xc0\xaf") == "\xef\xbf\xbd\xef\xbf\xbd");
  BOOST_TEST(valid_utf8("\xed\xa0\x80") == "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
  BOOST_TEST(valid_utf8("\xe2\x82") == "\xef\xbf\xbd\xef\xbf\xbd");
}

BOOST_AUTO_TEST_CASE(finds_invalid_byte_at_every_position) {
  for (auto size = std::size_t{1}; size <= 80; ++size)
    for (auto at = std::size_t{0}; at < size; ++at) {
      auto text = std::string(size, 'a');
      BOOST_TEST(is_utf8(text));
      text[at] = '\xe9';
      BOOST_TEST(!is_utf8(text));
    }
}

BOOST_AUTO_TEST_CASE(encoding_fault_names_line_and_byte_offset) {
  for (const auto* text : {"", "plain\n", "\xef\xbb\xbfmark", "\xc3\xa9"})
    BOOST_TEST(!find_encoding_fault(text).has_value());
  const auto fault = find_encoding_fault("a: b\nc: caf\xe9\n");
  BOOST_REQUIRE(fault.has_value());
  BOOST_TEST(fault->line == 2u);
  BOOST_TEST(fault->offset == 11u);
  BOOST_TEST(fault->text == "is not UTF-8: byte 0xE9 at offset 11");
}

BOOST_AUTO_TEST_CASE(encoding_fault_names_utf16_and_compression_formats) {
  using namespace std::string_view_literals;
  for (const auto text : {"\xff\xfe"sv, "\xff\xfe{\0"sv, "\xfe\xff\0{"sv, "{\0\"\0"sv, "\0{\0\""sv})
    BOOST_TEST(find_encoding_fault(text).value().text == "is UTF-16, not UTF-8");
  for (const auto& [text, fault_text, advice] :
       std::vector<std::tuple<std::string_view, std::string_view, std::string_view>>{
           {"\x1f\x8b\b", "is compressed with gzip", "gunzip"},
           {"\x28\xb5\x2f\xfd\x04", "is compressed with zstd", "unzstd"},
           {"\xfd\x37zXZ", "is compressed with xz", "unxz"},
           {"BZh91AY\xff", "is compressed with bzip2", "bunzip2"},
           {"PK\x03\x04\xff", "is compressed with zip", "unzip"}}) {
    const auto found = find_encoding_fault(text).value();
    BOOST_TEST(found.text == fault_text);
    BOOST_TEST(found.advice.ends_with(advice));
    BOOST_TEST(found.is_whole);
  }
  BOOST_TEST(!find_encoding_fault("PK\x03\x04 or BZh9 in a text").has_value());
}

BOOST_AUTO_TEST_CASE(only_yaml_check_rejects_control_characters) {
  using namespace std::string_view_literals;
  BOOST_TEST(!find_encoding_fault("a\x04z"sv).has_value());
  BOOST_TEST(find_yaml_encoding_fault("a\n\x04z"sv).value().text ==
             "is not text: control character 0x04 at offset 2");
  BOOST_TEST(find_yaml_encoding_fault("a: b\0c"sv).value().line == 1u);
}

BOOST_AUTO_TEST_CASE(shortened_texts_end_at_character_borders) {
  BOOST_TEST(shortened("abc", 3) == "abc");
  BOOST_TEST(shortened("abcd", 3) == "abc…");
  BOOST_TEST(shortened("aä€", 3) == "aä…");
  BOOST_TEST(shortened("aä€", 2) == "a…");
}

BOOST_AUTO_TEST_SUITE_END()
