// SPDX-License-Identifier: Apache-2.0
// The long-term stores in memory and in a file: items, search, filters, expiry and vectors.
#include "checkpoint/sqlite_fixtures.hpp"
#include "checkpoint/version_1.hpp"

#include <superstep/checkpoint/checkpointer.hpp>
#include <superstep/checkpoint/sqlite.hpp>
#include <superstep/checkpoint/store.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

namespace ss = superstep;
namespace json = boost::json;

BOOST_AUTO_TEST_SUITE(store)

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

void put_unordered(ss::store& s) {
  s.put({"a-b"}, "4", {});
  s.put({"a", "b"}, "3", {});
  s.put({"a"}, "2", {});
  s.put({"a"}, "1", {});
  s.put({"a"}, "2", {{"again", true}});
}

struct set_clock final : ss::clock {
  std::chrono::system_clock::time_point at{};
  [[nodiscard]] std::chrono::system_clock::time_point now() const override { return at; }
};

// The contract of superstep::store as tests, for all implementations.
struct stored_in_memory {
  ss::memory_store held{ss::memory_store_options{}};
  ss::store& get() { return held; }
};
struct stored_in_file {
  temporary_folder folder;
  ss::sqlite_store held{folder.file(), {.busy_timeout = {}, .survives_power_loss = false}};
  ss::store& get() { return held; }
};
using stores = std::tuple<stored_in_memory, stored_in_file>;

// Stores with an embedding or with items that expire.
struct set_up_in_memory {
  explicit set_up_in_memory(ss::memory_store_options o) : held{std::move(o)} {}
  ss::memory_store held;
};
struct set_up_in_file {
  explicit set_up_in_file(const ss::memory_store_options& o) : held{folder.file(), of(o)} {}
  static ss::sqlite_store_options of(const ss::memory_store_options& o) {
    auto out = ss::sqlite_store_options{};
    out.survives_power_loss = false;
    out.embed = o.embed;
    out.fields = o.fields;
    out.ttl = o.ttl;
    out.renew_on_read = o.renew_on_read;
    out.time = o.time;
    return out;
  }
  temporary_folder folder;
  ss::sqlite_store held;
};
using set_up_stores = std::tuple<set_up_in_memory, set_up_in_file>;

/// An embedding: the numbers of letters a and b in a text.
std::vector<std::vector<float>> count_letters(std::span<const std::string> texts) {
  auto out = std::vector<std::vector<float>>{};
  for (const auto& text : texts)
    out.push_back({static_cast<float>(std::ranges::count(text, 'a')),
                   static_cast<float>(std::ranges::count(text, 'b'))});
  return out;
}

// Outside the templates: g++ 12 fails with an internal error on such a struct inside one.
ss::memory_store_options expiring(const ss::clock& time) {
  auto out = ss::memory_store_options{};
  out.time = &time;
  out.ttl = std::chrono::milliseconds{100};
  return out;
}

ss::memory_store_options indexed() {
  auto out = ss::memory_store_options{};
  out.embed = count_letters;
  out.fields = {"title", "parts[*].text", "list[-1]", "{x,y}"};
  return out;
}

ss::store_put_options for_ever() {
  auto out = ss::store_put_options{};
  out.ttl = std::chrono::milliseconds{0};
  return out;
}

ss::store_put_options for_time(std::chrono::milliseconds ttl) {
  auto out = ss::store_put_options{};
  out.ttl = ttl;
  return out;
}

ss::store_put_options without_index() {
  auto out = ss::store_put_options{};
  out.index.emplace();
  return out;
}

ss::store_query meaning(std::string text) {
  auto out = ss::store_query{};
  out.text = std::move(text);
  return out;
}

} // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(get_returns_item_until_erased, Place, stores) {
  auto place = Place{};
  ss::store& s = place.get();
  s.put({"users", "u1"}, "name", {{"v", "Ann"}});
  BOOST_TEST(s.get({"users", "u1"}, "name")->at("v").as_string() == "Ann");
  BOOST_TEST(!s.get({"users"}, "name"));
  s.erase({"users", "u1"}, "name");
  s.erase({"users", "u1"}, "name");
  BOOST_TEST(!s.get({"users", "u1"}, "name"));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(search_matches_whole_namespace_labels, Place, stores) {
  auto place = Place{};
  ss::store& s = place.get();
  s.put({"a"}, "1", {});
  s.put({"a", "b"}, "2", {});
  s.put({"ab"}, "3", {});
  BOOST_TEST(keys(s, {{"a"}, {}, 10, 0}) == "12");
  BOOST_TEST(keys(s, {{}, {}, 2, 1}) == "23");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(filter_selects_by_value_comparison_or_nested_field, Place, stores) {
  auto place = Place{};
  ss::store& s = place.get();
  s.put({"n"}, "a", {{"n", 1}, {"t", "x"}});
  s.put({"n"}, "b", {{"n", 2}, {"in", {{"k", 1}, {"l", 2}}}});
  s.put({"n"}, "c", {{"n", "2"}, {"list", {1, 2}}});
  BOOST_TEST(keys(s, where(R"({"n":1,"t":"x"})")) == "a");
  BOOST_TEST(keys(s, where(R"({"n":{"$gte":1,"$lt":2}})")) == "a");
  BOOST_TEST(keys(s, where(R"({"n":{"$ne":1}})")) == "bc");
  BOOST_TEST(keys(s, where(R"({"in":{"k":1}})")) == "b");
  BOOST_TEST(keys(s, where(R"({"list":[1,2]})")) == "c");
  BOOST_TEST(keys(s, where(R"({"zz":null})")) == "abc");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(filter_finds_equal_numbers_of_any_type, Place, stores) {
  auto place = Place{};
  ss::store& s = place.get();
  s.put({"u"}, "a", {{"n", 1}, {"list", json::array{1, json::object{{"x", 2}}}}});
  s.put({"u"}, "b", {{"n", 1.0}});
  s.put({"u"}, "c", {{"n", true}});
  s.put({"u"}, "d", {{"n", 1.5}});
  s.put({"u"}, "e", {{"n", 9007199254740993}}); // not representable as a double
  for (const auto* one : {R"({"n":1})", R"({"n":1.0})", R"({"n":{"$eq":1.0}})"})
    BOOST_TEST(keys(s, where(one)) == "abc");
  BOOST_TEST(keys(s, where(R"({"n":{"$ne":1.0}})")) == "de");
  BOOST_TEST(keys(s, where(R"({"n":9007199254740992.0})")).empty());
  BOOST_TEST(keys(s, where(R"({"n":1e300})")).empty());
  BOOST_TEST(keys(s, where(R"({"list":[1.0,{"x":2.0}]})")) == "a");
  BOOST_TEST(keys(s, where(R"({"list":{"$eq":[1.0,{"x":2.0}]}})")) == "a");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(put_rejects_invalid_utf8_and_too_deep_values, Place, stores) {
  auto place = Place{};
  ss::store& s = place.get();
  const auto is_named = [](const std::invalid_argument& e) {
    return std::string{e.what()}.find("'k'") != std::string::npos;
  };
  BOOST_CHECK_EXCEPTION(s.put({"a"}, "k", {{"v", "caf\xe9"}}), std::invalid_argument, is_named);
  BOOST_CHECK_EXCEPTION(s.put({"a"}, "k", {{"\xff", 1}}), std::invalid_argument, is_named);
  auto deep = json::value(1);
  for (auto i = 0; i < 999; ++i)
    deep = json::array{std::move(deep)};
  s.put({"a"}, "deep", {{"v", deep}});
  BOOST_TEST((s.get({"a"}, "deep")->at("v") == deep));
  deep = json::array{std::move(deep)};
  BOOST_CHECK_EXCEPTION(s.put({"a"}, "k", {{"v", deep}}), std::invalid_argument, is_named);
  auto object = json::object{{"v", 1}};
  for (auto i = 0; i < 999; ++i)
    object = json::object{{"v", std::move(object)}};
  s.put({"a"}, "deep", object);
  BOOST_CHECK_EXCEPTION(s.put({"a"}, "k", {{"v", std::move(object)}}), std::invalid_argument,
                        is_named);
  BOOST_TEST(keys(s, {{"a"}, {}, 10, 0}) == "deep");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(maximum_ttl_is_accepted_and_negative_ttl_rejected, Place, stores) {
  auto place = Place{};
  ss::store& s = place.get();
  s.put({"a"}, "k", {}, for_time(std::chrono::milliseconds::max()));
  BOOST_TEST(s.get({"a"}, "k").has_value());
  BOOST_TEST(s.get({"a"}, "k").has_value()); // renewed by the first read
  BOOST_CHECK_THROW(s.put({"a"}, "k", {}, for_time(std::chrono::milliseconds{-5})),
                    std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(damaged_item_error_names_item_and_file) {
  const auto folder = temporary_folder{};
  auto s = ss::sqlite_store{folder.file()};
  s.put({"a"}, "bad", {});
  static_cast<void>(ask_sql(folder.file(), "UPDATE items SET value = '{no'"));
  const auto is_named = [&](const ss::checkpoint_error& e) {
    const auto text = std::string{e.what()};
    return text.find("'bad'") != text.npos && text.find(folder.file()) != text.npos;
  };
  BOOST_CHECK_EXCEPTION((void)s.get({"a"}, "bad"), ss::checkpoint_error, is_named);
  BOOST_CHECK_EXCEPTION((void)s.search({}), ss::checkpoint_error, is_named);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(invalid_namespaces_and_filter_operators_are_rejected, Place, stores) {
  auto place = Place{};
  ss::store& s = place.get();
  BOOST_CHECK_THROW(s.put({}, "k", {}), std::invalid_argument);
  BOOST_CHECK_THROW(s.put({"a.b"}, "k", {}), std::invalid_argument);
  BOOST_CHECK_THROW(s.put({""}, "k", {}), std::invalid_argument);
  BOOST_CHECK_THROW(s.put({"langgraph", "a"}, "k", {}), std::invalid_argument);
  BOOST_CHECK_THROW((void)s.get({"a.b"}, "k"), std::invalid_argument);
  s.put({"a"}, "k", {{"n", 1}});
  BOOST_CHECK_THROW((void)s.search(where(R"({"n":{"$near":1}})")), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(list_selects_namespaces_by_prefix_suffix_and_depth, Place, stores) {
  auto place = Place{};
  ss::store& s = place.get();
  for (const auto& ns :
       {ss::store_namespace{"q", "b", "d"}, {"a", "x", "c"}, {"a", "b", "c"}, {"a", "b"}})
    s.put(ns, "k", {});
  using list = std::vector<ss::store_namespace>;
  BOOST_TEST((s.list() == list{{"a", "b"}, {"a", "b", "c"}, {"a", "x", "c"}, {"q", "b", "d"}}));
  BOOST_TEST((s.list({{"a", "*", "c"}, {}, {}, 10, 0}) == list{{"a", "b", "c"}, {"a", "x", "c"}}));
  BOOST_TEST((s.list({{}, {"b", "*"}, {}, 10, 0}) == list{{"a", "b", "c"}, {"q", "b", "d"}}));
  BOOST_TEST((s.list({{"a"}, {}, 2, 10, 0}) == list{{"a", "b"}, {"a", "x"}}));
  BOOST_TEST((s.list({{}, {}, 1, 1, 1}) == list{{"q"}}));
  BOOST_CHECK_THROW(static_cast<void>(s.list({{}, {}, 0, 10, 0})), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(comparison_with_text_throws_only_in_memory_store) {
  auto memory = stored_in_memory{};
  auto file = stored_in_file{};
  for (auto* s : {&memory.get(), &file.get()}) {
    s->put({"n"}, "a", {{"n", 1}});
    s->put({"n"}, "b", {{"n", 2}});
    BOOST_TEST(keys(*s, where(R"({"n":{"$gt":1}})")) == "b");
    s->put({"n"}, "c", {{"n", "x"}});
    s->put({"n"}, "d", {});
  }
  BOOST_TEST(keys(file.get(), where(R"({"n":{"$gt":1}})")) == "b");
  BOOST_CHECK_THROW((void)memory.get().search(where(R"({"n":{"$gt":1}})")), ss::store_filter_error);
}

BOOST_AUTO_TEST_CASE(file_store_orders_results_by_namespace_and_key) {
  auto place = stored_in_file{};
  put_unordered(place.get());
  BOOST_TEST(keys(place.get(), {{}, {}, 10, 0}) == "1234");
}

BOOST_AUTO_TEST_CASE(memory_store_orders_results_by_first_put) {
  auto place = stored_in_memory{};
  put_unordered(place.get());
  BOOST_TEST(keys(place.get(), {{}, {}, 10, 0}) == "4321");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(items_expire_after_ttl_unless_read, Place, set_up_stores) {
  auto time = set_clock{};
  auto place = Place{expiring(time)};
  auto& s = place.held;
  s.put({"a"}, "short", {});
  s.put({"a"}, "ever", {}, for_ever());
  time.at += std::chrono::milliseconds{60};
  BOOST_TEST(s.get({"a"}, "short").has_value()); // this read renews the item
  time.at += std::chrono::milliseconds{99};
  BOOST_TEST(s.search({{"a"}, {}, 10, 0}).size() == 2U);
  time.at += std::chrono::milliseconds{100};
  BOOST_TEST(!s.get({"a"}, "short"));
  BOOST_TEST(keys(s, {{"a"}, {}, 10, 0}) == "ever");
  BOOST_TEST(s.sweep() == 1U);
  BOOST_TEST(s.sweep() == 0U);
  s.put({"a"}, "short", {});
  BOOST_TEST(s.get({"a"}, "short").has_value());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(similarity_search_ranks_items_by_nearest_text, Place, set_up_stores) {
  auto place = Place{indexed()};
  auto& s = place.held;
  const auto put = [&s](const char* key, const char* value) {
    s.put({"m"}, key, json::parse(value).as_object());
  };
  put("1", R"({"title":"b"})");
  put("2", R"({"title":"b","parts":[{"text":"b"},{"text":"ab"}]})");
  put("3", R"({"list":["b","a"]})");
  put("4", R"({"other":"a"})");
  put("5", R"({"y":"a","x":null})");
  s.put({"m"}, "6", {{"title", "a"}}, without_index());
  auto query = meaning("a");
  BOOST_TEST(keys(s, query) == "352146"); // items without an index come last
  const auto found = s.search(query);
  BOOST_TEST(found.at(0).score.value() == 1.0);
  BOOST_TEST(found.at(3).score.value() == 0.0);
  BOOST_TEST(!found.at(4).score.has_value());
  query.limit = 2;
  query.offset = 1;
  BOOST_TEST(keys(s, query) == "52");
}

BOOST_AUTO_TEST_CASE(expiry_times_and_vectors_survive_reopening_the_store) {
  const auto folder = temporary_folder{};
  auto time = set_clock{};
  auto options = ss::sqlite_store_options{};
  options.embed = count_letters;
  options.time = &time;
  options.ttl = std::chrono::milliseconds{100};
  const auto query = meaning("a");
  {
    auto first = ss::sqlite_store{folder.file(), options};
    first.put({"n"}, "1", {{"t", "b"}});
    first.put({"n"}, "2", {{"t", "a"}});
    BOOST_TEST(keys(first, query) == "21");
  }
  auto second = ss::sqlite_store{folder.file(), options};
  time.at += std::chrono::milliseconds{99};
  BOOST_TEST(second.search(query).at(0).key == "2");
  options.embed = [](std::span<const std::string> texts) {
    return std::vector<std::vector<float>>(texts.size(), {1, 2, 3});
  };
  auto other = ss::sqlite_store{folder.file(), options};
  BOOST_CHECK_EXCEPTION((void)other.search(query), std::invalid_argument, [](const auto& e) {
    return std::string_view{e.what()}.find("vectors of 3 numbers") != std::string_view::npos;
  });
  time.at += std::chrono::milliseconds{199};
  BOOST_TEST(second.search(query).empty());
  BOOST_TEST(second.list().empty());
  BOOST_TEST(second.sweep() == 2U);
}

BOOST_AUTO_TEST_CASE(file_store_items_are_shared_and_survive_reopening) {
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
