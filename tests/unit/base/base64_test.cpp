// SPDX-License-Identifier: Apache-2.0
// Base64; the texts are those of RFC 4648, section 10.
#include "base/base64.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <utility>

BOOST_AUTO_TEST_SUITE(base64)

BOOST_AUTO_TEST_CASE(bytes_and_text_are_converted_both_ways) {
  using pair = std::pair<std::string, std::string>;
  for (const auto& [bytes, text] :
       {pair{"", ""}, pair{"f", "Zg=="}, pair{"fo", "Zm8="}, pair{"foo", "Zm9v"},
        pair{"foob", "Zm9vYg=="}, pair{"fooba", "Zm9vYmE="}, pair{"foobar", "Zm9vYmFy"}}) {
    BOOST_TEST(superstep::to_base64(bytes) == text);
    BOOST_TEST(superstep::from_base64(text) == bytes);
  }
}

BOOST_AUTO_TEST_CASE(invalid_text_has_no_bytes) {
  for (const auto* text : {"Z", "Zm9", "Zm9v!", "Zm9\n", "####"})
    BOOST_TEST(superstep::from_base64(text).empty());
}

BOOST_AUTO_TEST_SUITE_END()
