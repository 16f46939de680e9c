// SPDX-License-Identifier: Apache-2.0
#include <superstep/base/boxed.hpp>

#include <boost/test/unit_test.hpp>

#include <string>

using superstep::boxed;

BOOST_AUTO_TEST_CASE(a_box_without_a_value_is_a_pointer_large) {
  static_assert(sizeof(boxed<std::string>) == sizeof(void*));
  const auto empty = boxed<std::string>{};
  BOOST_TEST(!empty.has_value());
  BOOST_TEST(empty.value_or("none") == "none");
  BOOST_TEST((empty == boxed<std::string>{std::nullopt}));
  BOOST_TEST((empty == boxed<std::string>{std::optional<std::string>{}}));
}

BOOST_AUTO_TEST_CASE(a_copy_of_a_box_has_a_value_of_its_own) {
  auto one = boxed<std::string>{std::string{"a"}};
  const auto two = one;
  one->push_back('b');
  BOOST_TEST(*one == "ab");
  BOOST_TEST(*two == "a");
  BOOST_TEST((one != two));
  one = two;
  BOOST_TEST((one == two));
  one.emplace(3U, 'c');
  BOOST_TEST(*one == "ccc");
  one.reset();
  BOOST_TEST(!one);
}
