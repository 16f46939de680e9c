// SPDX-License-Identifier: Apache-2.0
#include <superstep/checkpoint/memory_saver.hpp>

#include <boost/test/unit_test.hpp>

#include <memory>
#include <string>

namespace ss = superstep;

namespace {

const auto key = ss::thread_key{"t", ""};

void put(ss::saver& s, const std::string& id, std::int64_t step,
         ss::checkpoint_source source = ss::checkpoint_source::loop,
         const ss::thread_key& of = key) {
  auto point = std::make_shared<ss::checkpoint>();
  point->id = id;
  point->step = step;
  point->source = source;
  s.put(of, std::move(point));
}

std::string ids(ss::saver& s, const ss::checkpoint_query& query) {
  auto out = std::string{};
  for (const auto& c : s.list(key, query))
    out += c.point->id;
  return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(memory_saver)

BOOST_AUTO_TEST_CASE(the_newest_checkpoint_is_the_one_with_the_largest_id) {
  auto s = ss::memory_saver{};
  BOOST_TEST(!s.load(key, ""));
  BOOST_TEST(s.head(key).empty());
  put(s, "2", 1);
  put(s, "1", 0);
  BOOST_TEST(s.load(key, "")->point->id == "2");
  BOOST_TEST(s.head(key) == "2");
  BOOST_TEST(s.load(key, "1")->point->step == 0);
  BOOST_TEST(!s.load(key, "3"));
}

BOOST_AUTO_TEST_CASE(a_list_is_newest_first_and_filtered_before_it_is_cut) {
  auto s = ss::memory_saver{};
  put(s, "1", -1, ss::checkpoint_source::input);
  put(s, "2", 0);
  put(s, "3", 1);
  put(s, "4", 2, ss::checkpoint_source::update);
  BOOST_TEST(ids(s, {}) == "4321");
  BOOST_TEST(ids(s, {.before = "3", .source = {}, .step = {}, .limit = 0}) == "21");
  BOOST_TEST(ids(s, {{}, ss::checkpoint_source::loop, {}, 1}) == "3");
  BOOST_TEST(ids(s, {{}, {}, 0, 0}) == "2");
}

BOOST_AUTO_TEST_CASE(what_is_told_of_a_task_adds_up_and_an_output_is_written_once) {
  auto s = ss::memory_saver{};
  put(s, "1", 0);
  auto asked = ss::task_record{};
  asked.task = "a";
  asked.asked.emplace().push_back({"id", "why?"});
  s.put_task(key, "1", asked);
  auto ended = ss::task_record{};
  ended.task = "a";
  ended.output.emplace().targets = {1};
  s.put_task(key, "1", ended);
  ended.output->targets = {2};
  s.put_task(key, "1", ended);
  const auto tasks = s.load(key, "1")->tasks;
  BOOST_REQUIRE(tasks.size() == 1U);
  BOOST_TEST(tasks[0].output->targets.at(0) == 1U);
  BOOST_TEST(tasks[0].asked->size() == 1U);
}

BOOST_AUTO_TEST_CASE(what_the_caller_writes_to_a_checkpoint_adds_up) {
  auto s = ss::memory_saver{};
  put(s, "1", 0);
  auto said = ss::task_record{};
  said.output.emplace().targets = {1};
  s.put_task(key, "1", said);
  s.put_task(key, "1", said);
  BOOST_TEST(s.load(key, "1")->tasks.at(0).output->targets.size() == 2U);
}

BOOST_AUTO_TEST_CASE(a_thread_is_forgotten_with_its_subgraphs_and_no_other) {
  auto s = ss::memory_saver{};
  put(s, "1", 0);
  put(s, "1", 0, ss::checkpoint_source::loop, {"t", "sub"});
  put(s, "1", 0, ss::checkpoint_source::loop, {"u", ""});
  s.delete_thread("t");
  BOOST_TEST(s.head(key).empty());
  BOOST_TEST(s.head({"t", "sub"}).empty());
  BOOST_TEST(s.head({"u", ""}) == "1");
}

BOOST_AUTO_TEST_SUITE_END()
