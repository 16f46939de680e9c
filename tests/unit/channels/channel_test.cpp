// SPDX-License-Identifier: Apache-2.0
// Error codes of channels.
#include <superstep/channels/channel.hpp>

#include <boost/test/unit_test.hpp>

#include <set>

BOOST_AUTO_TEST_SUITE(channel)

BOOST_AUTO_TEST_CASE(every_channel_error_has_its_own_message) {
  using superstep::channel_errc;
  auto texts = std::set<std::string>{};
  for (const auto code : {channel_errc::invalid_update, channel_errc::reducer_failed}) {
    const auto error = std::error_code{code};
    BOOST_TEST(error.category().name() == "channel");
    BOOST_TEST(texts.insert(error.message()).second);
    BOOST_TEST(error.message() != "unknown channel error");
  }
  BOOST_TEST(make_error_code(static_cast<channel_errc>(99)).message() == "unknown channel error");
}

BOOST_AUTO_TEST_SUITE_END()
