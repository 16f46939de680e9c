// SPDX-License-Identifier: Apache-2.0
// The list of messages: sharing, replacement, iteration.
#include <superstep/messages/messages.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

using namespace superstep;

BOOST_AUTO_TEST_SUITE(message_lists)

BOOST_AUTO_TEST_CASE(append_to_message_list_does_not_affect_copies) {
  auto l = message_list{human_message("a"), ai_message("b")};
  const auto old = l;
  l.push_back(human_message("c"));
  BOOST_TEST(old.size() == 2U);
  BOOST_TEST(l.size() == 3U);
  BOOST_TEST(l.back().content == "c");
  BOOST_TEST((l != old));
  BOOST_TEST((old == message_list{human_message("a"), ai_message("b")}));
}

BOOST_AUTO_TEST_CASE(copies_of_a_list_share_their_messages) {
  const auto l = message_list{human_message("a")};
  auto copy = l;
  copy.push_back(ai_message("b"));
  BOOST_TEST(&l[0] == &copy[0]);
  BOOST_TEST(l.at_ptr(0) == copy.at_ptr(0));
}

BOOST_AUTO_TEST_CASE(replacing_a_message_does_not_affect_copies) {
  auto l = message_list{human_message("a"), ai_message("b")};
  const auto old = l;
  l.replace(0, std::make_shared<const message>(human_message("z")));
  BOOST_TEST(l[0].content == "z");
  BOOST_TEST(old[0].content == "a");
}

BOOST_AUTO_TEST_CASE(iteration_visits_messages_in_order) {
  const auto l =
      message_list{std::vector<message>{human_message("a"), ai_message("b"), human_message("c")}};
  auto text = std::string{};
  for (const auto& m : l)
    text += m.content;
  BOOST_TEST(text == "abc");
  const auto last_ai =
      std::find_if(std::make_reverse_iterator(l.end()), std::make_reverse_iterator(l.begin()),
                   [](const message& m) { return m.type == message_type::ai; });
  BOOST_TEST(last_ai->content == "b");
  BOOST_TEST(l.begin()[2].content == "c");
}

BOOST_AUTO_TEST_CASE(for_each_type_reports_types_in_order) {
  auto l = message_list{};
  auto expected = std::vector<message_type>{};
  for (auto i = 0; i < 70; ++i) { // three chunks of 32
    l.push_back(i % 3 == 0 ? human_message("a") : ai_message("b"));
    expected.push_back(l.back().type);
  }
  l.replace(40, std::make_shared<const message>(system_message("z")));
  expected[40] = message_type::system;
  auto types = std::vector<message_type>{};
  l.for_each_type([&types](message_type t) { types.push_back(t); });
  BOOST_TEST((types == expected));
}

BOOST_AUTO_TEST_SUITE_END()
