// SPDX-License-Identifier: Apache-2.0
// The reuse of the memory of shared messages.
#include "messages/message_memory.hpp"

#include <boost/test/unit_test.hpp>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace superstep;

BOOST_AUTO_TEST_SUITE(memory_of_messages)

BOOST_AUTO_TEST_CASE(messages_in_reused_memory_are_empty) {
  for (auto round = 0; round < 3; ++round) {
    auto held = std::vector<std::shared_ptr<message>>{};
    for (auto i = 0; i < 400; ++i) { // more than a thread keeps
      auto made = detail::make_message();
      BOOST_TEST((*made == message{}));
      made->content = std::string(40, 'a');
      made->tool_calls.push_back({"id", "name", {}});
      held.push_back(std::move(made));
    }
  }
}

BOOST_AUTO_TEST_CASE(messages_outlive_threads_that_made_them) {
  auto held = std::vector<message_list>(8);
  {
    auto threads = std::vector<std::jthread>{};
    for (auto& list : held)
      threads.emplace_back([&list] {
        for (auto round = 0; round < 50; ++round) {
          list = {};
          for (auto i = 0; i < 20; ++i)
            list.push_back(human_message(std::to_string(i)));
        }
      });
  }
  for (const auto& list : held) {
    BOOST_TEST(list.size() == 20U);
    for (auto i = std::size_t{0}; i < list.size(); ++i)
      BOOST_TEST(list[i].content == std::to_string(i));
  }
}

BOOST_AUTO_TEST_CASE(messages_are_freed_by_other_threads) {
  auto list = message_list{};
  for (auto i = 0; i < 600; ++i)
    list.push_back(human_message("a"));
  std::jthread{[own = std::exchange(list, {})]() mutable { own = {}; }}.join();
  list.push_back(human_message("b"));
  BOOST_TEST(list.back().content == "b");
}

BOOST_AUTO_TEST_SUITE_END()
