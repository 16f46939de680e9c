// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/sqlite_places.hpp"

#include <superstep/checkpoint/sqlite_store.hpp>
#include <superstep/checkpoint/store.hpp>

#include <boost/test/unit_test.hpp>

#include <stdexcept>
#include <string>
#include <tuple>

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

// The contract of superstep::store, for every store there is.
struct in_memory {
  ss::memory_store held;
  ss::store& get() { return held; }
};
struct in_file {
  temporary_folder folder;
  ss::sqlite_store held{folder.file(), {.busy_timeout = {}, .survives_power_loss = false}};
  ss::store& get() { return held; }
};
using stores = std::tuple<in_memory, in_file>;

} // namespace

BOOST_AUTO_TEST_SUITE(store)

BOOST_AUTO_TEST_CASE_TEMPLATE(what_was_put_is_there_until_it_is_erased, Place, stores) {
  auto place = Place{};
  ss::store& s = place.get();
  s.put({"users", "u1"}, "name", {{"v", "Ann"}});
  BOOST_TEST(s.get({"users", "u1"}, "name")->at("v").as_string() == "Ann");
  BOOST_TEST(!s.get({"users"}, "name"));
  s.erase({"users", "u1"}, "name");
  s.erase({"users", "u1"}, "name");
  BOOST_TEST(!s.get({"users", "u1"}, "name"));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_search_finds_by_whole_labels, Place, stores) {
  auto place = Place{};
  ss::store& s = place.get();
  s.put({"a"}, "1", {});
  s.put({"a", "b"}, "2", {});
  s.put({"ab"}, "3", {});
  BOOST_TEST(keys(s, {{"a"}, {}, 10, 0}) == "12");
  BOOST_TEST(keys(s, {{}, {}, 2, 1}) == "23");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_filter_compares_field_by_field, Place, stores) {
  auto place = Place{};
  ss::store& s = place.get();
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

BOOST_AUTO_TEST_CASE_TEMPLATE(bad_namespaces_and_operators_are_refused, Place, stores) {
  auto place = Place{};
  ss::store& s = place.get();
  BOOST_CHECK_THROW(s.put({}, "k", {}), std::invalid_argument);
  BOOST_CHECK_THROW(s.put({"a.b"}, "k", {}), std::invalid_argument);
  BOOST_CHECK_THROW(s.put({""}, "k", {}), std::invalid_argument);
  s.put({"a"}, "k", {{"n", 1}});
  BOOST_CHECK_THROW((void)s.search(where(R"({"n":{"$near":1}})")), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_search_goes_by_namespaces_then_keys, Place, stores) {
  auto place = Place{};
  ss::store& s = place.get();
  s.put({"a-b"}, "4", {});
  s.put({"a", "b"}, "3", {});
  s.put({"a"}, "2", {});
  s.put({"a"}, "1", {});
  s.put({"a"}, "1", {{"again", true}});
  BOOST_TEST(keys(s, {{}, {}, 10, 0}) == "1234");
}

BOOST_AUTO_TEST_CASE(a_store_in_a_file_is_there_for_others_and_later) {
  const auto folder = temporary_folder{};
  auto first = std::make_unique<ss::sqlite_store>(folder.file());
  auto other = ss::sqlite_store{folder.file()};
  first->put({"a", "b"}, "k", {{"v", "ä"}});
  BOOST_TEST(other.get({"a", "b"}, "k")->at("v").as_string() == "ä");
  first.reset();
  BOOST_TEST((ss::sqlite_store{folder.file()}.search({{}, {}, 1, 0}).at(0).ns ==
              ss::store_namespace{"a", "b"}));
}

BOOST_AUTO_TEST_SUITE_END()
