// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/checkpoint/store.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

// Helpers of the contract of superstep::store, whose test cases are in store_cases.hpp.
namespace store_contract {

namespace ss = superstep;
namespace json = boost::json;

inline std::string keys(ss::store& s, ss::store_query query) {
  auto out = std::string{};
  for (const auto& item : s.search(query))
    out += item.key;
  return out;
}

inline ss::store_query where(const char* filter) {
  return {{}, json::parse(filter).as_object(), 10, 0};
}

inline void put_unordered(ss::store& s) {
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

/// An embedding: the numbers of letters a and b in a text.
inline std::vector<std::vector<float>> count_letters(std::span<const std::string> texts) {
  auto out = std::vector<std::vector<float>>{};
  for (const auto& text : texts)
    out.push_back({static_cast<float>(std::ranges::count(text, 'a')),
                   static_cast<float>(std::ranges::count(text, 'b'))});
  return out;
}

// Outside the templates: g++ 12 fails with an internal error on such a struct inside one.
inline ss::memory_store_options expiring(const ss::clock& time) {
  auto out = ss::memory_store_options{};
  out.time = &time;
  out.ttl = std::chrono::milliseconds{100};
  return out;
}

inline ss::memory_store_options indexed() {
  auto out = ss::memory_store_options{};
  out.embed = count_letters;
  out.fields = {"title", "parts[*].text", "list[-1]", "{x,y}"};
  return out;
}

inline ss::store_put_options for_ever() {
  auto out = ss::store_put_options{};
  out.ttl = std::chrono::milliseconds{0};
  return out;
}

inline ss::store_put_options for_time(std::chrono::milliseconds ttl) {
  auto out = ss::store_put_options{};
  out.ttl = ttl;
  return out;
}

inline ss::store_put_options without_index() {
  auto out = ss::store_put_options{};
  out.index.emplace();
  return out;
}

inline ss::store_query meaning(std::string text) {
  auto out = ss::store_query{};
  out.text = std::move(text);
  return out;
}

} // namespace store_contract
