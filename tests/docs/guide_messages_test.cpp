// SPDX-License-Identifier: Apache-2.0
// The code of docs/messages.md.
//! [includes]
#include <superstep/messages/history.hpp>
#include <superstep/messages/message_json.hpp>
#include <superstep/messages/messages.hpp>
//! [includes]

#include <boost/test/unit_test.hpp>

#include <string>

namespace ss = superstep;

BOOST_AUTO_TEST_SUITE(guide)

BOOST_AUTO_TEST_CASE(messages_convert_to_prompt_text_and_json) {
  //! [messages]
  auto chat = ss::message_list{ss::human_message("What is 6 * 7?")};
  chat.push_back(ss::ai_message("42"));
  const auto text = ss::buffer_string(chat); // "Human: What is 6 * 7?\nAI: 42"

  // Reads a message in the form of chat completions, and writes it in superstep's own form.
  const auto read = ss::message_from_json({{"role", "user"}, {"content", "And 6 * 8?"}});
  chat.push_back(read.value());
  const auto written = ss::to_json(chat.back()); // {"type": "human", "content": "And 6 * 8?"}
  //! [messages]
  BOOST_TEST(text == "Human: What is 6 * 7?\nAI: 42");
  BOOST_TEST(written.at("type").as_string() == "human");
  BOOST_TEST(written.at("content").as_string() == "And 6 * 8?");
}

BOOST_AUTO_TEST_SUITE_END()
