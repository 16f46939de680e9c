// SPDX-License-Identifier: Apache-2.0
// The contract of superstep::write_cache as test cases, for all implementations. Include this file
// in a test suite, after the tuple `caches`: types with a constructor that takes the largest number
// of outputs, a function get() that returns a cache, and a function advance() for its clock.

BOOST_AUTO_TEST_CASE_TEMPLATE(find_returns_latest_output_of_key, Place, caches) {
  auto place = Place{};
  ss::write_cache& cache = place.get();
  cache.put("g/a", "1", going_to(0), {}, layout);
  cache.put("g/a", "1", going_to(1), {}, layout);
  BOOST_TEST(cache.find("g/a", "1", layout)->targets.at(0) == 1U);
  BOOST_TEST(!cache.find("g/a", "2", layout));
  BOOST_TEST(!cache.find("g/b", "1", layout));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(find_restores_writes_and_sends_of_output, Place, caches) {
  auto place = Place{};
  auto made = going_to(1);
  made.writes.push_back(checkpointer_contract::set_n(7));
  made.sends.push_back({0, ss::send::milliseconds{20}, ss::value{5}});
  place.get().put("s", "k", std::move(made), {}, layout);
  const auto found = place.get().find("s", "k", checkpointer_contract::usual_layout());
  BOOST_TEST_REQUIRE(found.has_value());
  BOOST_TEST(found->writes.at(0).content.template as<int>() == 7);
  BOOST_TEST(found->sends.at(0).timeout.count() == 20U);
  BOOST_TEST(found->sends.at(0).input.template as<int>() == 5);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(output_expires_after_ttl, Place, caches) {
  auto place = Place{};
  ss::write_cache& cache = place.get();
  cache.put("s", "k", going_to(1), 5ms, layout);
  place.advance(4ms);
  BOOST_TEST(cache.find("s", "k", layout).has_value());
  place.advance(1ms);
  BOOST_TEST(!cache.find("s", "k", layout));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(full_cache_drops_its_oldest_outputs, Place, caches) {
  auto place = Place{2};
  ss::write_cache& cache = place.get();
  cache.put("s", "1", going_to(1), {}, layout);
  cache.put("s", "2", going_to(1), {}, layout);
  cache.put("s", "1", going_to(1), {}, layout); // a second put makes it the newest entry
  cache.put("s", "3", going_to(1), {}, layout);
  BOOST_TEST(cache.find("s", "1", layout).has_value());
  BOOST_TEST(!cache.find("s", "2", layout));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(repeated_put_of_a_key_drops_no_other_output, Place, caches) {
  auto place = Place{3};
  ss::write_cache& cache = place.get();
  cache.put("s", "1", going_to(1), {}, layout);
  for (auto i = 0; i < 5; ++i)
    cache.put("s", "2", going_to(1), {}, layout);
  cache.put("s", "3", going_to(1), {}, layout);
  BOOST_TEST(cache.find("s", "1", layout).has_value());
  BOOST_TEST(cache.find("s", "3", layout).has_value());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(cache_never_exceeds_its_maximum, Place, caches) {
  auto place = Place{20};
  ss::write_cache& cache = place.get();
  for (auto last = 0; last < 70; ++last) {
    cache.put("s", std::to_string(last), going_to(1), {}, layout);
    auto found = 0;
    for (auto i = 0; i <= last; ++i)
      found += cache.find("s", std::to_string(i), layout) ? 1 : 0;
    BOOST_TEST(found <= 20);
    BOOST_TEST(found >= std::min(last + 1, 19));
    BOOST_TEST(cache.find("s", std::to_string(last), layout).has_value());
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(clear_with_empty_scope_deletes_all_scopes, Place, caches) {
  auto place = Place{};
  ss::write_cache& cache = place.get();
  cache.put("a", "1", going_to(1), {}, layout);
  cache.put("b", "1", going_to(1), {}, layout);
  cache.clear("a");
  BOOST_TEST(!cache.find("a", "1", layout));
  BOOST_TEST(cache.find("b", "1", layout).has_value());
  cache.clear("");
  BOOST_TEST(!cache.find("b", "1", layout));
}
