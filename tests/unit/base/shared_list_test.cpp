// SPDX-License-Identifier: Apache-2.0
// The persistent list: sharing, forks, comparison, and random operations against a vector.
#include <superstep/base/detail/shared_list.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

using superstep::list_change;
using superstep::shared_list;

BOOST_AUTO_TEST_SUITE(shared_list_of_pointers)

namespace {

using item = std::shared_ptr<const int>;
using list = shared_list<item>;
using tagged_list = shared_list<item, int>;

item make(int i) {
  return std::make_shared<const int>(i);
}

list counting(int n) {
  auto l = list{};
  for (auto i = 0; i < n; ++i)
    l.push_back(make(i));
  return l;
}

template <class List>
std::vector<int> values(const List& l) {
  auto out = std::vector<int>{};
  for (const auto& i : l)
    out.push_back(*i);
  return out;
}

std::vector<int> tags(const tagged_list& l) {
  auto out = std::vector<int>{};
  while (out.size() < l.size()) {
    const auto row = l.tags_from(out.size());
    out.insert(out.end(), row.begin(), row.end());
  }
  return out;
}

std::vector<int> numbers(int n) {
  auto out = std::vector<int>(static_cast<std::size_t>(n));
  std::iota(out.begin(), out.end(), 0);
  return out;
}

// Sizes around the boundaries of chunks (4, 4, 8 and 16 elements, then 32 each) and of spines (2,
// 4, 8 chunks).
const auto sizes = std::vector<int>{0,  1,  3,  4,  5,  7,  8,  9,   15,  16,  17,  31,
                                    32, 33, 63, 64, 65, 96, 97, 159, 160, 161, 233, 300};

} // namespace

BOOST_DATA_TEST_CASE(elements_are_read_back_in_order, boost::unit_test::data::make(sizes), n) {
  const auto l = counting(n);
  BOOST_TEST(l.size() == static_cast<std::size_t>(n));
  BOOST_TEST(values(l) == numbers(n), boost::test_tools::per_element());
  BOOST_TEST((l.end() - l.begin()) == n);
}

BOOST_DATA_TEST_CASE(copy_does_not_see_later_appends, boost::unit_test::data::make(sizes), n) {
  auto l = counting(n);
  const auto old = l;
  BOOST_TEST((l.push_back(make(n)) == list_change::in_place));
  BOOST_TEST(values(old) == numbers(n), boost::test_tools::per_element());
  BOOST_TEST(values(l) == numbers(n + 1), boost::test_tools::per_element());
}

BOOST_DATA_TEST_CASE(append_to_outdated_copy_forks_the_list, boost::unit_test::data::make(sizes),
                     n) {
  auto newest = counting(n);
  auto older = newest;
  newest.push_back(make(1000));
  const auto change = older.push_back(make(2000));
  // Two copies of the empty list share nothing yet.
  BOOST_TEST((change == (n == 0 ? list_change::in_place : list_change::forked)));
  BOOST_TEST(*newest.back() == 1000);
  BOOST_TEST(*older.back() == 2000);
  for (auto i = 0; i < 70; ++i) {
    BOOST_TEST((newest.push_back(make(i)) == list_change::in_place));
    BOOST_TEST((older.push_back(make(-i)) == list_change::in_place));
  }
  BOOST_TEST(*newest.back() == 69);
  BOOST_TEST(*older.back() == -69);
  BOOST_TEST(*newest[static_cast<std::size_t>(n)] == 1000);
}

BOOST_DATA_TEST_CASE(replace_does_not_affect_copies, boost::unit_test::data::make(sizes), n) {
  for (auto at = 0; at < n; at += 7) {
    auto l = counting(n);
    const auto old = l;
    BOOST_TEST((l.replace(static_cast<std::size_t>(at), make(-1)) == list_change::forked));
    BOOST_TEST((l.replace(static_cast<std::size_t>(at), make(-2)) == list_change::in_place));
    auto expected = numbers(n);
    BOOST_TEST(values(old) == expected, boost::test_tools::per_element());
    expected[static_cast<std::size_t>(at)] = -2;
    BOOST_TEST(values(l) == expected, boost::test_tools::per_element());
    // Both lists are extended: neither may write into memory that they still share.
    auto other = old;
    l.push_back(make(5));
    other.push_back(make(6));
    BOOST_TEST(*l.back() == 5);
    BOOST_TEST(*other.back() == 6);
  }
}

BOOST_AUTO_TEST_CASE(lists_are_compared_by_their_elements) {
  auto a = counting(40);
  auto b = a;
  BOOST_TEST((a == b));
  b.push_back(make(1));
  BOOST_TEST((a != b));
  auto c = list{};
  for (const auto& i : a)
    c.push_back(i);
  BOOST_TEST((a == c));
  c.replace(3, make(3));
  BOOST_TEST((a != c)); // the elements are pointers, and one of them differs
}

BOOST_AUTO_TEST_CASE(moved_from_list_is_empty_and_usable) {
  auto a = counting(40);
  auto b = std::move(a);
  BOOST_TEST(a.empty()); // NOLINT: tests the state after a move
  a.push_back(make(9));
  BOOST_TEST(*a.back() == 9);
  BOOST_TEST(b.size() == 40U);
}

BOOST_AUTO_TEST_CASE(element_is_destroyed_with_last_list_containing_it) {
  auto watched = std::weak_ptr<const int>{};
  {
    auto l = counting(33);
    auto longer = l;
    auto last = make(7);
    watched = last;
    longer.push_back(std::move(last));
    BOOST_TEST(!watched.expired());
  }
  BOOST_TEST(watched.expired());
}

BOOST_AUTO_TEST_CASE(random_operations_give_same_results_as_vector) {
  auto random = std::mt19937{20261121};
  auto lists = std::vector<tagged_list>(1);
  auto models = std::vector<std::vector<int>>(1);
  for (auto step = 0; step < 20'000; ++step) {
    const auto which = random() % lists.size();
    const auto what = random() % 100;
    if (what < 8 && lists.size() < 40) {
      lists.push_back(lists[which]);
      models.push_back(models[which]);
    } else if (what < 14) {
      const auto from = random() % lists.size();
      lists[which] = tagged_list{lists[from]};
      models[which] = std::vector<int>{models[from]};
    } else if (what < 30 && !lists[which].empty()) {
      const auto at = random() % lists[which].size();
      lists[which].replace(at, make(step), step);
      models[which][at] = step;
    } else {
      lists[which].push_back(make(step), step);
      models[which].push_back(step);
    }
  }
  for (auto i = std::size_t{0}; i < lists.size(); ++i) {
    BOOST_TEST((values(lists[i]) == models[i]));
    BOOST_TEST((tags(lists[i]) == models[i]));
  }
}

BOOST_AUTO_TEST_CASE(copies_on_many_threads_append_independently) {
  for (const auto start : {0, 3, 4, 5, 7, 8, 40, 72, 100}) {
    const auto base = counting(start);
    auto ends = std::vector<list>(4);
    {
      auto threads = std::vector<std::jthread>{};
      for (auto t = 0; t < 4; ++t)
        threads.emplace_back([t, mine = base, &end = ends[static_cast<std::size_t>(t)]]() mutable {
          auto kept = std::vector<list>{};
          for (auto i = 0; i < 500; ++i) {
            kept.push_back(mine);
            mine.push_back(make(t * 10'000 + i));
            if (i % 50 == 0)
              mine.replace(mine.size() / 2, make(-1));
          }
          end = mine;
        });
    }
    for (auto t = 0; t < 4; ++t) {
      const auto& end = ends[static_cast<std::size_t>(t)];
      BOOST_TEST(end.size() == static_cast<std::size_t>(start) + 500);
      for (auto i = 0; i < 500; ++i) {
        const auto value = *end[static_cast<std::size_t>(start + i)];
        BOOST_REQUIRE((value == t * 10'000 + i || value == -1));
      }
    }
    BOOST_TEST(values(base) == numbers(start), boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_SUITE_END()
