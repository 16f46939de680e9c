// SPDX-License-Identifier: Apache-2.0
// Parsing of server-sent events in pieces of any size.
#include "models/sse_parser.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <string_view>
#include <vector>

using superstep::models::sse_parser;

namespace {

constexpr auto stream = std::string_view{"\xEF\xBB\xBF: a comment\r\n"
                                         "data: one\r\n\r\n"
                                         "event: message\nid: 7\ndata:two\ndata:  lines\n\n"
                                         "\n\r\r"
                                         "data\n\n"
                                         "data: {\"a\": \"\xC3\xA4\"}\r\r"
                                         "retry: 5\n\n"
                                         "data: [DONE]\n\n"
                                         "data: cut off\n"};

const auto expected =
    std::vector<std::string>{"one", "two\n lines", "", "{\"a\": \"\xC3\xA4\"}", "[DONE]"};

} // namespace

BOOST_AUTO_TEST_CASE(all_complete_sse_events_are_parsed) {
  auto parser = sse_parser{1000};
  auto events = std::vector<std::string>{};
  BOOST_TEST(parser.feed(stream, events).has_value());
  BOOST_TEST(events == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(sse_events_do_not_depend_on_chunk_boundaries) {
  for (auto first = std::size_t{0}; first <= stream.size(); ++first)
    for (auto second = first; second <= stream.size(); ++second) {
      auto parser = sse_parser{1000};
      auto events = std::vector<std::string>{};
      BOOST_REQUIRE(parser.feed(stream.substr(0, first), events).has_value());
      BOOST_REQUIRE(parser.feed(stream.substr(first, second - first), events).has_value());
      BOOST_REQUIRE(parser.feed(stream.substr(second), events).has_value());
      BOOST_REQUIRE(events == expected);
    }
}

BOOST_AUTO_TEST_CASE(error_field_becomes_an_event) {
  auto parser = sse_parser{1000};
  auto events = std::vector<std::string>{};
  BOOST_TEST(
      parser.feed("error: {\"code\":500}\n\nerrors: 1\n\ndata: [DONE]\n\n", events).has_value());
  const auto both = std::vector<std::string>{R"({"error": {"code":500}})", "[DONE]"};
  BOOST_TEST(events == both, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(oversized_sse_event_is_rejected) {
  auto parser = sse_parser{10};
  auto events = std::vector<std::string>{};
  BOOST_TEST(parser.feed("data: 123\n\n", events).has_value());
  BOOST_TEST(parser.feed("data: 12", events).has_value());
  BOOST_TEST(parser.feed("345678", events).has_error());
}
