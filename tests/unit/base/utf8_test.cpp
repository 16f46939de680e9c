// SPDX-License-Identifier: Apache-2.0
// Validation and repair of UTF-8.
#include "base/utf8.hpp"

#include <boost/test/unit_test.hpp>

using superstep::is_utf8;
using superstep::valid_utf8;

BOOST_AUTO_TEST_SUITE(utf8)

BOOST_AUTO_TEST_CASE(valid_text_is_unchanged) {
  for (const auto* text : {"", "plain", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80 end"})
    BOOST_TEST((is_utf8(text) && valid_utf8(text) == text));
}

BOOST_AUTO_TEST_CASE(invalid_bytes_are_replaced_one_by_one) {
  BOOST_TEST(valid_utf8("a\xff"
                        "b") == "a\xef\xbf\xbd"
                                "b");
  BOOST_TEST(!is_utf8("caf\xe9"));
  BOOST_TEST(valid_utf8("\xc3") == "\xef\xbf\xbd");
  BOOST_TEST(valid_utf8("\xc0\xaf") == "\xef\xbf\xbd\xef\xbf\xbd");
  BOOST_TEST(valid_utf8("\xed\xa0\x80") == "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
  BOOST_TEST(valid_utf8("\xe2\x82") == "\xef\xbf\xbd\xef\xbf\xbd");
}

BOOST_AUTO_TEST_SUITE_END()
