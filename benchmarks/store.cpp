// SPDX-License-Identifier: Apache-2.0
// W11: items of the long-term store in memory, found by key, by filter or by similarity.
#include "workloads.hpp"

#include <superstep/checkpoint/store.hpp>

#include <span>
#include <string>
#include <vector>

namespace superstep::bench {

namespace {

constexpr auto dimensions = std::uint32_t{256};

/// Returns the fixed vector of item `i`, whose text is its number.
std::vector<float> vector_of(std::uint32_t i) {
  auto out = std::vector<float>{};
  out.reserve(dimensions);
  for (auto d = std::uint32_t{0}; d < dimensions; ++d)
    out.push_back(static_cast<float>(
        static_cast<double>(i * std::uint32_t{2'654'435'761} + d * 40'503) / 2'147'483'648.0 - 1));
  return out;
}

std::vector<std::vector<float>> embed_numbers(std::span<const std::string> texts) {
  auto out = std::vector<std::vector<float>>{};
  for (const auto& text : texts)
    out.push_back(vector_of(static_cast<std::uint32_t>(std::stoul(text))));
  return out;
}

std::string key_of(std::int64_t i) {
  return "k" + std::to_string(i);
}

store_namespace namespace_of(std::int64_t i) {
  return {"bench", "u" + std::to_string(i % 100)};
}

struct store_times {
  timing put{};
  timing get{};
  timing search{};
};

template <class F>
void take(timing& into, F&& once) {
  const auto one = measure(1, std::forward<F>(once));
  into.add(one.seconds, one.cpu);
}

report store_report(const store_times& times, double items, double searches) {
  auto out = report{.unit = "operation", .units = 2 * items + searches};
  out.time.add(times.put.seconds + times.get.seconds + times.search.seconds,
               times.put.cpu_min + times.get.cpu_min + times.search.cpu_min);
  out.extra = {{"put_us", times.put.cpu_min * 1e6 / items},
               {"get_us", times.get.cpu_min * 1e6 / items},
               {"search_us", times.search.cpu_min * 1e6 / searches}};
  return out;
}

report keyed_items(std::int64_t count, std::size_t repetitions) {
  constexpr auto searches = 100;
  auto times = store_times{};
  auto sum = std::int64_t{0};
  auto found = std::size_t{0};
  for (auto i = std::size_t{0}; i < repetitions; ++i) {
    auto items = memory_store{};
    take(times.put, [&] {
      for (auto n = std::int64_t{0}; n < count; ++n)
        items.put(namespace_of(n), key_of(n), {{"text", "item " + std::to_string(n)}, {"n", n}});
      return 0;
    });
    take(times.get, [&] {
      sum = 0;
      for (auto n = std::int64_t{0}; n < count; ++n)
        sum += items.get(namespace_of(n), key_of(n))->at("n").as_int64();
      return 0;
    });
    take(times.search, [&] {
      for (auto n = 0; n < searches; ++n) {
        auto query = store_query{.prefix = {"bench", "u7"}, .filter = {{"n", 7}}};
        found = items.search(query).size();
      }
      return 0;
    });
    expect(sum == count * (count - 1) / 2, "the sum of n is " + std::to_string(sum));
    expect(found == 1, std::to_string(found) + " items found");
  }
  auto out = store_report(times, static_cast<double>(count), searches);
  out.checks = {{"sum", sum}, {"found", found}};
  return out;
}

report similar_items(std::int64_t count, std::size_t repetitions) {
  constexpr auto searches = std::int64_t{100};
  auto times = store_times{};
  auto right = std::int64_t{0};
  for (auto i = std::size_t{0}; i < repetitions; ++i) {
    auto options = memory_store_options{};
    options.embed = embed_numbers;
    options.fields = {"text"};
    auto items = memory_store{std::move(options)};
    take(times.put, [&] {
      for (auto n = std::int64_t{0}; n < count; ++n)
        items.put({"bench"}, key_of(n), {{"text", std::to_string(n)}});
      return 0;
    });
    take(times.get, [&] {
      for (auto n = std::int64_t{0}; n < count; ++n)
        expect(items.get({"bench"}, key_of(n)).has_value(), "an item is missing");
      return 0;
    });
    take(times.search, [&] {
      right = 0;
      for (auto n = std::int64_t{0}; n < searches; ++n) {
        const auto found = items.search({.prefix = {"bench"}, .text = std::to_string(n % count)});
        right += found.front().key == key_of(n % count) ? 1 : 0;
      }
      return 0;
    });
    expect(right == searches, std::to_string(right) + " queries found their own item");
  }
  auto out = store_report(times, static_cast<double>(count), searches);
  out.checks = {{"own_first", right}};
  return out;
}

} // namespace

report long_term_store(parameters& p) {
  const auto similar = p.flag("vec", false);
  const auto count = p.integer("N", similar ? 10'000 : 100'000, {.min = 100, .max = 10'000'000});
  const auto repetitions = p.repetitions();
  p.done();
  return similar ? similar_items(count, repetitions) : keyed_items(count, repetitions);
}

} // namespace superstep::bench
