// SPDX-License-Identifier: Apache-2.0
// The reducer of message channels: merging by id, deletion, assigned ids, shared older states.
#include <superstep/messages/messages.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <ostream>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace superstep;

BOOST_AUTO_TEST_SUITE(adding_messages)

namespace {

/// Parses messages from a short notation: "1:a 2:b -1 -*" is two messages with ids, the removal of
/// the first, and the removal of all. ":c" has no id.
message_list parse(std::string_view text) {
  auto list = message_list{};
  while (!text.empty()) {
    const auto word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (word == "-*") {
      list.push_back(remove_message(std::string{remove_all_messages}));
    } else if (word.starts_with('-')) {
      list.push_back(remove_message(std::string{word.substr(1)}));
    } else {
      auto m = human_message(std::string{word.substr(word.find(':') + 1)});
      m.id = word.substr(0, word.find(':'));
      list.push_back(std::move(m));
    }
  }
  return list;
}

std::string print(const message_list& list) {
  auto text = std::string{};
  for (const auto& m : list)
    text += (text.empty() ? "" : " ") +
            (m.type == message_type::remove ? "-" + m.id : m.id + ':' + m.content);
  return text;
}

struct merge_case {
  std::string_view name, left, right, expected;
};
std::ostream& operator<<(std::ostream& out, const merge_case& c) {
  return out << c.name;
}

const auto merges = std::vector<merge_case>{
    {"new messages are appended", "1:a", "2:b 3:c", "1:a 2:b 3:c"},
    {"a known id is replaced in place", "1:a 2:b 3:c", "2:z", "1:a 2:z 3:c"},
    {"a later message replaces one of the same update", "1:a", "2:b 2:c", "1:a 2:c"},
    {"a removal deletes", "1:a 2:b 3:c", "-2", "1:a 3:c"},
    {"a removal and a new message keep the place", "1:a 2:b", "-1 1:z", "1:z 2:b"},
    {"a new message and a removal delete", "1:a 2:b", "1:z -1", "2:b"},
    {"an appended message can be removed", "1:a", "2:b -2", "1:a"},
    {"remove all drops earlier messages", "1:a 2:b", "-*", ""},
    {"remove all keeps later messages", "1:a", "2:b -* 3:c", "3:c"},
    {"only the last remove all takes effect", "1:a", "-* 2:b -* 3:c", "3:c"},
    {"after remove all a removal is kept as it is", "1:a", "-* 3:c -3", "3:c -3"},
    {"of equal ids on the left the last is replaced", "1:a 1:b", "1:z", "1:a 1:z"},
    {"a removal deletes all messages with its id", "1:a 2:b 1:c", "-1", "2:b"},
    {"missing ids are generated on both sides", ":a", ":b :c", "r-4-0:a r-4-1:b r-4-2:c"},
    {"an empty update changes nothing", "1:a", "", "1:a"},
};

message with_id(std::string id, std::string text) {
  auto m = human_message(std::move(text));
  m.id = std::move(id);
  return m;
}

} // namespace

BOOST_DATA_TEST_CASE(updates_are_merged_by_id, boost::unit_test::data::make(merges), c) {
  auto ids = id_source{"r"};
  ids.begin_step(4);
  auto list = parse(c.left);
  const auto before = list;
  add_messages{}(list, parse(c.right), ids);
  BOOST_TEST(print(list) == c.expected);
  BOOST_TEST(print(before) == print(parse(c.left)));
}

BOOST_AUTO_TEST_CASE(removing_unknown_id_fails_without_changes) {
  auto ids = id_source{"r"};
  auto list = parse("1:a");
  const auto words = [](const std::invalid_argument& e) {
    return std::string_view{e.what()} ==
           "Attempting to delete a message with an ID that doesn't exist ('7')";
  };
  BOOST_CHECK_EXCEPTION(add_messages{}(list, parse("2:b -7"), ids), std::invalid_argument, words);
  BOOST_TEST(print(list) == "1:a");
}

BOOST_AUTO_TEST_CASE(generated_id_differs_from_those_of_an_earlier_run) {
  auto history = message_list{};
  for (const auto* words : {"one", "two", "three"}) {
    history.push_back(human_message(words));
    auto ids = id_source{"r"};
    ids.begin_step(0);
    auto list = message_list{};
    add_messages{}(list, std::move(history), ids); // the input of a run
    ids.begin_step(1);
    add_messages{}(list, message_list{ai_message("", {{"", "f", {}}})}, ids);
    history = list;
  }
  BOOST_TEST(print(history) == "r-0-0:one r-1-0: r-0-1:two r-1-1: r-0-2:three r-1-2:");
  BOOST_TEST(history.back().tool_calls[0].id == "r-1-2-call-0");
  auto ids = id_source{"r"};
  auto list = message_list{};
  // the id of a later message of the same update counts as well
  add_messages{}(list, {human_message("a"), with_id("r-0-0", "b")}, ids);
  BOOST_TEST(list.size() == 2U);
  BOOST_TEST(list[0].id == "r-0-1");
}

BOOST_AUTO_TEST_CASE(messages_of_runs_without_key_can_be_merged) {
  auto merged = message_list{};
  for (const auto* words : {"one", "two"}) {
    auto ids = id_source{""};
    ids.begin_step(0);
    auto list = message_list{};
    add_messages{}(list, {human_message(words), ai_message("answer")}, ids);
    add_messages{}(merged, std::move(list), ids);
  }
  BOOST_TEST_REQUIRE(merged.size() == 4U);
  BOOST_TEST(merged[0].content == "one");
  BOOST_TEST(merged[2].content == "two");
}

BOOST_AUTO_TEST_CASE(tool_call_without_id_gets_id_from_message) {
  auto ids = id_source{"r"};
  ids.begin_step(2);
  auto more = message_list{ai_message("", {{"", "f", {}}, {"given", "g", {}}, {"", "h", {}}})};
  const auto sent = more.at_ptr(0);
  auto list = message_list{};
  add_messages{}(list, std::move(more), ids);
  BOOST_TEST(list[0].id == "r-2-0");
  BOOST_TEST(list[0].tool_calls[0].id == "r-2-0-call-0");
  BOOST_TEST(list[0].tool_calls[1].id == "given");
  BOOST_TEST(list[0].tool_calls[2].id == "r-2-0-call-2");
  BOOST_TEST(sent->id.empty()); // the original message is not modified
}

BOOST_AUTO_TEST_CASE(updates_of_copies_leave_older_lists_unchanged) {
  auto ids = id_source{"r"};
  auto random = std::mt19937{7};
  auto states = std::vector<message_list>(1);
  auto expected = std::vector<std::vector<std::pair<std::string, std::string>>>(1);
  for (auto step = 0; step < 3000; ++step) {
    // Usually the newest state is extended, sometimes an older one, which creates a fork.
    const auto from = random() % 10 == 0 ? random() % states.size() : states.size() - 1;
    auto state = states[from];
    auto model = expected[from];
    const auto id =
        std::to_string(random() % 3 == 0 ? random() % 200 : 1000U + random() % 100'000U);
    const auto known =
        std::find_if(model.begin(), model.end(), [&](auto& m) { return m.first == id; });
    const auto text = std::to_string(step);
    if (known != model.end() && random() % 8 == 0) {
      add_messages{}(state, message_list{remove_message(id)}, ids);
      model.erase(known);
    } else {
      add_messages{}(state, message_list{with_id(id, text)}, ids);
      if (known != model.end())
        known->second = text;
      else
        model.emplace_back(id, text);
    }
    states.push_back(std::move(state));
    expected.push_back(std::move(model));
  }
  for (auto i = std::size_t{0}; i < states.size(); i += 13) {
    BOOST_REQUIRE(states[i].size() == expected[i].size());
    for (auto j = std::size_t{0}; j < expected[i].size(); ++j) {
      BOOST_REQUIRE(states[i][j].id == expected[i][j].first);
      BOOST_REQUIRE(states[i][j].content == expected[i][j].second);
    }
  }
}

BOOST_AUTO_TEST_CASE(concurrent_updates_of_copies_are_independent) {
  auto ids = id_source{"r"};
  auto base = parse("1:a 2:b 3:c");
  add_messages{}(base, parse("2:z"), ids); // creates the shared index
  auto ends = std::vector<message_list>(2);
  {
    auto threads = std::vector<std::jthread>{};
    for (auto t = 0; t < 2; ++t)
      threads.emplace_back([t, mine = base, &end = ends[static_cast<std::size_t>(t)]]() mutable {
        const auto run = std::to_string(t);
        auto own = id_source{run};
        for (auto i = 0; i < 400; ++i) {
          const auto key = std::to_string(t) + '/' + std::to_string(i % 300);
          auto kept = mine;
          add_messages{}(mine, message_list{with_id(key, std::to_string(i))}, own);
        }
        end = mine;
      });
  }
  for (const auto& end : ends) {
    BOOST_TEST(end.size() == 303U);
    BOOST_TEST(end[3].content == "300");
    BOOST_TEST(end.back().content == "299");
  }
}

BOOST_AUTO_TEST_SUITE_END()
