// SPDX-License-Identifier: Apache-2.0
// The deltas of a call's arguments while they are streamed.
#include "protocols/stream_output.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(input_progress)

BOOST_AUTO_TEST_CASE(deltas_are_bounded_and_add_up_to_arguments) {
  auto joined = std::string{};
  const auto on_event = superstep::protocol_event_handler{[&](const auto& event) {
    const auto& delta = std::get<superstep::tool_input_delta>(event);
    BOOST_TEST(delta.call == 3U);
    BOOST_TEST(delta.text.size() <= 512U);
    joined += delta.text;
  }};
  auto progress = superstep::input_progress{3, on_event};
  BOOST_TEST(progress.show({{"city", "Seo"}}));
  progress.flush();
  BOOST_TEST(joined == R"({"city":"Seo)");
  BOOST_TEST(!progress.show({{"city", "Busan"}}));
  progress.flush();
  BOOST_TEST(joined == R"({"city":"Seo)", "what does not extend the sent text is not sent");
  const auto last = R"({"city":"Seoul)" + std::string(2000, 'x') + "\"}";
  BOOST_TEST(progress.complete(last));
  BOOST_TEST(joined == last);
}

BOOST_AUTO_TEST_CASE(final_arguments_that_contradict_sent_deltas_are_rejected) {
  auto progress_events = 0;
  const auto on_event = superstep::protocol_event_handler{[&](const auto&) { ++progress_events; }};
  auto progress = superstep::input_progress{0, on_event};
  BOOST_TEST(progress.show({{"a", "b"}}));
  progress.flush();
  BOOST_TEST(!progress.complete(R"({"z":1})"));
  BOOST_TEST(progress_events == 1);
}

BOOST_AUTO_TEST_SUITE_END()
