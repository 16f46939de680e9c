// SPDX-License-Identifier: Apache-2.0
// The kinds of channels: last value, aggregate, ephemeral and topic.
#include <superstep/channels/detail/slots.hpp>
#include <superstep/channels/kinds.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <ostream>
#include <stdexcept>
#include <string>

using namespace superstep;

namespace {

using lines = std::vector<std::string>;

struct append {
  void operator()(lines& into, lines&& more) const {
    for (auto& m : more)
      into.push_back(std::move(m));
  }
};
struct named { // a reducer that assigns ids to what it adds
  void operator()(lines& into, lines&& more, id_source& ids) const {
    for (auto& m : more)
      into.push_back(m + '=' + ids.next());
  }
};
struct refuse {
  void operator()(int&, int&&) const { throw std::runtime_error{"no more"}; }
};

/// A channel with the slot that stores its value.
template <class Channel, class Held>
struct on_slot {
  template <class... Args>
  explicit on_slot(Held initial, Args... args)
      : kind{"key", slot_place<Held>{0}, std::move(args)...} {
    block.add(std::make_unique<slot_block::slot_of<Held>>(std::move(initial)));
  }
  result<changed> update(std::vector<superstep::write> writes) {
    auto pointers = std::vector<superstep::write*>{};
    for (auto& w : writes)
      pointers.push_back(&w);
    return kind.update(block, pointers, ids);
  }
  const Held& held() const { return block.at<Held>(0); }
  [[nodiscard]] bool is_available() const { return kind.is_available(block); }

  slot_block block;
  id_source ids{"run"};
  Channel kind;
};

template <class T>
superstep::write put(T v) {
  return {0, false, value{std::move(v)}};
}
template <class T>
superstep::write over(T v) {
  return {0, true, value{std::move(v)}};
}
lines items(std::initializer_list<const char*> list) {
  return {list.begin(), list.end()};
}

using maybe = std::optional<int>;
using last = on_slot<last_value<slot_place<maybe>, int>, maybe>;
using ephemeral = on_slot<ephemeral_value<slot_place<maybe>, int>, maybe>;
using string_topic = on_slot<topic<slot_place<lines>, std::string>, lines>;
template <class Fn, class T = lines>
using folded = on_slot<binary_operator_aggregate<slot_place<T>, T, Fn>, T>;

} // namespace

BOOST_AUTO_TEST_SUITE(last_value_channel)

BOOST_AUTO_TEST_CASE(step_without_write_keeps_the_value) {
  auto c = last{std::nullopt};
  BOOST_TEST(!c.is_available());
  BOOST_CHECK(c.update({put(7)}).value() == changed::yes);
  BOOST_TEST(c.is_available());
  BOOST_CHECK(c.update({}).value() == changed::no);
  BOOST_TEST(*c.held() == 7);
  BOOST_TEST(!c.kind.wants_empty_update());
}

BOOST_AUTO_TEST_CASE(second_write_in_a_step_is_rejected) {
  auto c = last{7};
  const auto done = c.update({put(8), put(8)});
  BOOST_TEST_REQUIRE(done.has_error());
  BOOST_TEST(done.error().code == make_error_code(channel_errc::invalid_update));
  BOOST_TEST(
      done.error().text ==
      "At key 'key': Can receive only one value per step.\nGive the channel a reducer to keep the "
      "values of several nodes, or let one node of a step write it.");
  BOOST_TEST(*c.held() == 7);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(aggregate_channel)

struct fold_case {
  const char* name;
  std::vector<superstep::write> writes;
  lines expected;
};
std::ostream& operator<<(std::ostream& out, const fold_case& c) {
  return out << c.name;
}

const auto fold_cases = std::vector<fold_case>{
    {"no write changes nothing", {}, items({"0"})},
    {"writes fold left to right",
     {put(items({"a"})), put(items({"b", "c"}))},
     items({"0", "a", "b", "c"})},
    {"an overwrite replaces the value", {over(items({"x"}))}, items({"x"})},
    {"writes before an overwrite are discarded",
     {put(items({"a"})), over(items({"x"}))},
     items({"x"})},
    {"writes after an overwrite are ignored",
     {over(items({"x"})), put(items({"a"}))},
     items({"x"})},
};

BOOST_DATA_TEST_CASE(reducer_folds_writes_unless_one_overwrites,
                     boost::unit_test::data::make(fold_cases), sample) {
  auto c = folded<append>{items({"0"})};
  BOOST_CHECK(c.update(sample.writes).value() ==
              (sample.writes.empty() ? changed::no : changed::yes));
  BOOST_TEST(c.held() == sample.expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(second_overwrite_in_a_step_is_rejected) {
  auto c = folded<append>{items({"0"})};
  const auto done = c.update({over(items({"x"})), put(items({"a"})), over(items({"y"}))});
  BOOST_TEST_REQUIRE(done.has_error());
  BOOST_TEST(
      done.error().text ==
      "At key 'key': Can receive only one Overwrite value per super-step.\nLet one node of a "
      "step overwrite the channel.");
  BOOST_TEST(c.held() == items({"0"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(result_of_reducer_function_becomes_the_value) {
  auto c = folded<std::plus<>, int>{1};
  BOOST_CHECK(c.update({put(2), put(3)}).value() == changed::yes);
  BOOST_TEST(c.held() == 6);
}

BOOST_AUTO_TEST_CASE(append_items_appends_written_lists) {
  auto c = folded<append_items>{items({"0"})};
  BOOST_CHECK(c.update({put(items({"a", "b"})), put(items({"c"}))}).value() == changed::yes);
  BOOST_TEST(c.held() == items({"0", "a", "b", "c"}), boost::test_tools::per_element());
  static_assert(leaves_value_on_failure<append_items>); // so a step with one write copies nothing
}

BOOST_AUTO_TEST_CASE(ids_for_reducer_contain_run_step_and_number) {
  auto c = folded<named>{{}};
  c.ids.begin_step(4);
  BOOST_CHECK(c.update({put(items({"a", "b"})), put(items({"c"}))}).value() == changed::yes);
  BOOST_TEST(c.held() == items({"a=run-4-0", "b=run-4-1", "c=run-4-2"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(error_of_throwing_reducer_names_the_channel) {
  auto c = folded<refuse, int>{1};
  const auto done = c.update({put(2)});
  BOOST_TEST_REQUIRE(done.has_error());
  BOOST_TEST(done.error().code == make_error_code(channel_errc::reducer_failed));
  BOOST_TEST(done.error().text == "the reducer of channel 'key' failed: no more");
}

BOOST_AUTO_TEST_CASE(bad_alloc_in_reducer_is_reported_as_shortage) {
  constexpr auto exhaust = [](int, int) -> int { throw std::bad_alloc{}; };
  auto c = folded<decltype(exhaust), int>{1};
  const auto done = c.update({put(2)});
  BOOST_TEST_REQUIRE(done.has_error());
  BOOST_TEST(done.error().code == make_error_code(errc::shortage));
}

BOOST_AUTO_TEST_CASE(first_write_to_unset_aggregate_is_stored_unchanged) {
  auto c = on_slot<binary_operator_aggregate<slot_place<maybe>, int, std::multiplies<>>, maybe>{
      std::nullopt};
  BOOST_TEST(!c.is_available());
  BOOST_CHECK(c.update({put(3), put(4)}).value() == changed::yes);
  BOOST_TEST(*c.held() == 12);
  BOOST_CHECK(c.update({put(2)}).value() == changed::yes);
  BOOST_TEST(*c.held() == 24);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(ephemeral_channel)

BOOST_AUTO_TEST_CASE(ephemeral_value_lasts_one_step) {
  auto c = ephemeral{std::nullopt};
  BOOST_TEST(c.kind.wants_empty_update());
  BOOST_CHECK(c.update({put(7)}).value() == changed::yes);
  BOOST_TEST(c.is_available());
  BOOST_CHECK(c.kind.update_empty(c.block) == changed::yes);
  BOOST_TEST(!c.is_available());
  BOOST_CHECK(c.kind.update_empty(c.block) == changed::no);
}

BOOST_AUTO_TEST_CASE(guarded_ephemeral_channel_rejects_second_write_of_step) {
  auto c = ephemeral{std::nullopt};
  const auto done = c.update({put(7), put(8)});
  BOOST_TEST_REQUIRE(done.has_error());
  BOOST_TEST(done.error().text ==
             "At key 'key': an ephemeral channel accepts one value per step.\nLet one node of a "
             "step write it, or create it with guard = false to keep the last value.");
  BOOST_TEST(!c.is_available());
}

BOOST_AUTO_TEST_CASE(unguarded_ephemeral_channel_keeps_last_write_of_step) {
  auto c = ephemeral{std::nullopt, false};
  BOOST_CHECK(c.update({put(7), put(8)}).value() == changed::yes);
  BOOST_TEST(*c.held() == 8);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(topic_channel)

BOOST_AUTO_TEST_CASE(topic_holds_items_of_latest_step) {
  auto c = string_topic{{}};
  BOOST_TEST(!c.is_available());
  BOOST_CHECK(c.update({put(items({"a"})), put(items({"b", "c"}))}).value() == changed::yes);
  BOOST_TEST(c.held() == items({"a", "b", "c"}), boost::test_tools::per_element());
  BOOST_CHECK(c.update({put(items({"d"}))}).value() == changed::yes);
  BOOST_TEST(c.held() == items({"d"}), boost::test_tools::per_element());
  BOOST_CHECK(c.kind.update_empty(c.block) == changed::yes);
  BOOST_TEST(!c.is_available());
  BOOST_CHECK(c.kind.update_empty(c.block) == changed::no);
}

BOOST_AUTO_TEST_CASE(accumulating_topic_holds_items_of_all_steps) {
  auto c = string_topic{{}, true};
  BOOST_TEST(!c.kind.wants_empty_update());
  static_cast<void>(c.update({put(items({"a"}))}));
  BOOST_CHECK(c.kind.update_empty(c.block) == changed::no);
  static_cast<void>(c.update({put(items({"b"}))}));
  BOOST_TEST(c.held() == items({"a", "b"}), boost::test_tools::per_element());
}

// Otherwise a step that adds no item would report the channel in its events and checkpoint.
BOOST_AUTO_TEST_CASE(accumulating_topic_is_unchanged_by_empty_list) {
  auto c = string_topic{{}, true};
  BOOST_CHECK(c.update({put(items({}))}).value() == changed::no);
  BOOST_CHECK(c.update({put(items({"a"}))}).value() == changed::yes);
  BOOST_CHECK(c.update({put(items({})), put(items({}))}).value() == changed::no);
  BOOST_TEST(c.held() == items({"a"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(overwrite_replaces_items_of_topic) {
  for (const auto accumulates : {false, true}) {
    auto c = string_topic{{}, accumulates};
    static_cast<void>(c.update({put(items({"a"}))}));
    const auto done = c.update({put(items({"b"})), over(items({"c", "d"})), put(items({"e"}))});
    BOOST_CHECK(done.value() == changed::yes);
    BOOST_TEST(c.held() == items({"c", "d"}), boost::test_tools::per_element());
    const auto twice = c.update({over(items({"x"})), over(items({"y"}))});
    BOOST_TEST_REQUIRE(twice.has_error());
    BOOST_TEST(twice.error().code == make_error_code(channel_errc::invalid_update));
    BOOST_TEST(c.held() == items({"c", "d"}), boost::test_tools::per_element());
    BOOST_CHECK(c.update({over(items({}))}).value() == changed::yes);
    BOOST_TEST(!c.is_available());
  }
}

BOOST_AUTO_TEST_SUITE_END()
