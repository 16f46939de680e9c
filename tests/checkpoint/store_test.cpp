// SPDX-License-Identifier: Apache-2.0
#include <superstep/checkpoint/store.hpp>

#include <boost/test/unit_test.hpp>

#include <stdexcept>
#include <string>

namespace ss = superstep;
namespace json = boost::json;

namespace {

std::string keys(ss::store& s, ss::store_query query) {
  auto out = std::string{};
  for (const auto& item : s.search(query))
    out += item.key;
  return out;
}

ss::store_query where(const char* filter) {
  return {{}, json::parse(filter).as_object(), 10, 0};
}

} // namespace

BOOST_AUTO_TEST_SUITE(store)

BOOST_AUTO_TEST_CASE(what_was_put_is_there_until_it_is_erased) {
  auto s = ss::memory_store{};
  s.put({"users", "u1"}, "name", {{"v", "Ann"}});
  BOOST_TEST(s.get({"users", "u1"}, "name")->at("v").as_string() == "Ann");
  BOOST_TEST(!s.get({"users"}, "name"));
  s.erase({"users", "u1"}, "name");
  s.erase({"users", "u1"}, "name");
  BOOST_TEST(!s.get({"users", "u1"}, "name"));
}

BOOST_AUTO_TEST_CASE(a_search_finds_by_whole_labels) {
  auto s = ss::memory_store{};
  s.put({"a"}, "1", {});
  s.put({"a", "b"}, "2", {});
  s.put({"ab"}, "3", {});
  BOOST_TEST(keys(s, {{"a"}, {}, 10, 0}) == "12");
  BOOST_TEST(keys(s, {{}, {}, 2, 1}) == "23");
}

BOOST_AUTO_TEST_CASE(a_filter_compares_field_by_field) {
  auto s = ss::memory_store{};
  s.put({"n"}, "a", {{"n", 1}, {"t", "x"}});
  s.put({"n"}, "b", {{"n", 2}, {"in", {{"k", 1}, {"l", 2}}}});
  s.put({"n"}, "c", {{"n", "2"}, {"list", {1, 2}}});
  BOOST_TEST(keys(s, where(R"({"n":1,"t":"x"})")) == "a");
  BOOST_TEST(keys(s, where(R"({"n":{"$gte":1,"$lt":2}})")) == "a");
  BOOST_TEST(keys(s, where(R"({"n":{"$ne":1}})")) == "bc");
  BOOST_TEST(keys(s, where(R"({"n":{"$gt":1}})")) == "b"); // text is no number
  BOOST_TEST(keys(s, where(R"({"in":{"k":1}})")) == "b");
  BOOST_TEST(keys(s, where(R"({"list":[1,2]})")) == "c");
  BOOST_TEST(keys(s, where(R"({"zz":null})")) == "abc");
}

BOOST_AUTO_TEST_CASE(bad_namespaces_and_operators_are_refused) {
  auto s = ss::memory_store{};
  BOOST_CHECK_THROW(s.put({}, "k", {}), std::invalid_argument);
  BOOST_CHECK_THROW(s.put({"a.b"}, "k", {}), std::invalid_argument);
  BOOST_CHECK_THROW(s.put({""}, "k", {}), std::invalid_argument);
  s.put({"a"}, "k", {{"n", 1}});
  BOOST_CHECK_THROW((void)s.search(where(R"({"n":{"$near":1}})")), std::invalid_argument);
}

BOOST_AUTO_TEST_SUITE_END()
