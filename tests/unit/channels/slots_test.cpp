// SPDX-License-Identifier: Apache-2.0
// Storage of channel values: clones, JSON values and struct fields.
#include <superstep/base/json.hpp>
#include <superstep/channels/detail/slots.hpp>

#include <boost/test/unit_test.hpp>

#include <string>

using namespace superstep;

BOOST_AUTO_TEST_SUITE(slots)

namespace {
struct pair_state {
  int a = 1;
  std::string b = "b";
};
} // namespace

BOOST_AUTO_TEST_CASE(changing_a_block_does_not_change_its_clone) {
  auto block = boost::intrusive_ptr<slot_block>{new slot_block};
  const auto number = slot_place<int>{block->add(std::make_unique<slot_block::slot_of<int>>(7))};
  const auto text = slot_place<std::string>{
      block->add(std::make_unique<slot_block::slot_of<std::string>>(std::string{"x"}))};
  const auto copy = block->clone();
  number.of(*block) = 8;
  text.of(*block) += "y";
  BOOST_TEST(number.of(*copy) == 7);
  BOOST_TEST(text.of(*copy) == "x");
  BOOST_TEST(text.of(*block) == "xy");
}

BOOST_AUTO_TEST_CASE(clone_shares_unchanged_slots_but_copy_does_not) {
  auto block = boost::intrusive_ptr<slot_block>{new slot_block};
  for (auto i = 0; i < 100; ++i)
    block->add(std::make_unique<slot_block::slot_of<std::string>>("x"));
  const auto at = [](const state_ptr& state, std::size_t i) {
    return &static_cast<const slot_block&>(*state).at<std::string>(i);
  };
  const auto clone = block->clone();
  const auto copy = block->copy();
  block->at<std::string>(7) = "y";
  BOOST_TEST(*at(clone, 7) == "x");
  BOOST_TEST(at(clone, 8) == at(block, 8));
  BOOST_TEST(at(copy, 8) != at(block, 8));
  const auto* const own = at(block, 7);
  block->at<std::string>(7) = "z"; // no other block has this slot any more
  BOOST_TEST(at(block, 7) == own);
}

BOOST_AUTO_TEST_CASE(json_slot_does_not_wrap_value_in_array) {
  const auto slot = slot_block::slot_of<json::value>{json::value("text")};
  BOOST_TEST(slot.object.is_string());
}

BOOST_AUTO_TEST_CASE(field_place_accesses_struct_field_in_place) {
  const auto block = state_ptr{new struct_block<pair_state>{{5, "five"}}};
  const auto a = field_place<&pair_state::a>{};
  const auto copy = block->clone();
  a.of(*block) = 6;
  BOOST_TEST(a.of(*block) == 6);
  BOOST_TEST(a.of(*copy) == 5);
  BOOST_TEST((field_place<&pair_state::b>{}.of(*copy)) == "five");
}

BOOST_AUTO_TEST_SUITE_END()
