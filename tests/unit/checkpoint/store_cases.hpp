// SPDX-License-Identifier: Apache-2.0
// The contract of superstep::store as test cases, for all implementations. Include this file in a
// test suite, after these types:
//   stores         types with a function get() that returns a store
//   set_up_stores  types with a member `held`, a store, and a constructor with memory_store_options

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
