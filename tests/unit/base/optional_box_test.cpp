// SPDX-License-Identifier: Apache-2.0
// The heap-allocated optional.
#include <superstep/base/detail/optional_box.hpp>

#include <boost/test/unit_test.hpp>

#include <optional>
#include <string>
#include <tuple>
#include <utility>

using superstep::optional_box;

BOOST_AUTO_TEST_CASE(default_and_nullopt_optional_boxes_are_equal) {
  static_assert(sizeof(optional_box<std::string>) == sizeof(void*));
  const auto empty = optional_box<std::string>{};
  BOOST_TEST(!empty.has_value());
  BOOST_TEST(empty.value_or("none") == "none");
  BOOST_TEST((empty == optional_box<std::string>{std::nullopt}));
  BOOST_TEST((empty == optional_box<std::string>{std::optional<std::string>{}}));
}

BOOST_AUTO_TEST_CASE(copy_of_optional_box_is_deep) {
  auto one = optional_box<std::string>{std::string{"a"}};
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

BOOST_AUTO_TEST_CASE(access_to_empty_optional_box_throws) {
  auto empty = optional_box<std::string>{};
  BOOST_CHECK_THROW(std::ignore = *empty, std::bad_optional_access);
  BOOST_CHECK_THROW(empty->push_back('a'), std::bad_optional_access);
  BOOST_CHECK_THROW(std::ignore = std::as_const(empty).value(), std::bad_optional_access);
}
