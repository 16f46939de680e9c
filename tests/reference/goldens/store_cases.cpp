// SPDX-License-Identifier: Apache-2.0
// Recorded cases of the long-term store in memory.
#include "cases.hpp"
#include "graph_cases/expression.hpp"
#include "langgraph_texts.hpp"

#include <superstep/checkpoint/store.hpp>

#include <cctype>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

namespace superstep::conformance {

namespace {

using graph_cases::member;
using graph_cases::text_member;

std::vector<std::string> texts_in(const json::value& list) {
  auto out = std::vector<std::string>{};
  if (list.is_array())
    for (const auto& text : list.get_array())
      out.emplace_back(std::string_view{text.as_string()});
  return out;
}

std::size_t count_in(const json::object& op, std::string_view name, std::size_t default_value) {
  const auto& v = member(op, name);
  return v.is_null() ? default_value : v.to_number<std::size_t>();
}

/// Embedding of the cases: the number of occurrences of each letter in a text.
std::vector<std::vector<float>> letter_counts(std::span<const std::string> texts) {
  auto out = std::vector<std::vector<float>>{};
  for (const auto& text : texts) {
    auto& counts = out.emplace_back(26, 0.0F);
    for (const auto c : text) {
      const auto low = std::tolower(static_cast<unsigned char>(c));
      if (low >= 'a' && low <= 'z')
        counts[static_cast<std::size_t>(low - 'a')] += 1;
    }
  }
  return out;
}

memory_store_options options_of(const json::object& input) {
  auto out = memory_store_options{};
  if (const auto* index = input.if_contains("index")) {
    out.embed = letter_counts;
    if (const auto* fields = index->as_object().if_contains("fields"))
      out.fields = texts_in(*fields);
  }
  return out;
}

json::value printed_item(const store_item& item, bool with_score) {
  auto out = json::object{{"ns", json::array(item.ns.begin(), item.ns.end())},
                          {"key", item.key},
                          {"value", item.value}};
  if (with_score)
    out["score"] =
        item.score ? json::value(std::round(*item.score * 10'000) / 10'000) : json::value{};
  return out;
}

json::value run_search(store& memory, const json::object& op) {
  auto query = store_query{};
  query.prefix = texts_in(member(op, "ns"));
  if (const auto& filter = member(op, "filter"); filter.is_object())
    query.filter = filter.get_object();
  query.limit = count_in(op, "limit", query.limit);
  query.offset = count_in(op, "offset", 0);
  query.text = text_member(op, "query");
  auto out = json::array{};
  for (const auto& item : memory.search(query))
    out.push_back(printed_item(item, !query.text.empty()));
  return out;
}

json::value run_list(store& memory, const json::object& op) {
  auto query = namespace_query{};
  query.prefix = texts_in(member(op, "prefix"));
  query.suffix = texts_in(member(op, "suffix"));
  if (const auto depth = count_in(op, "max_depth", 0); depth > 0)
    query.depth_max = depth;
  query.limit = count_in(op, "limit", query.limit);
  query.offset = count_in(op, "offset", 0);
  auto out = json::array{};
  for (const auto& ns : memory.list(query))
    out.push_back(json::array(ns.begin(), ns.end()));
  return out;
}

json::value run_op(store& memory, const json::object& op) {
  const auto what = text_member(op, "do");
  if (what == "search")
    return run_search(memory, op);
  if (what == "list")
    return run_list(memory, op);
  const auto ns = texts_in(member(op, "ns"));
  const auto key = text_member(op, "key");
  if (what == "get") {
    const auto found = memory.get(ns, key);
    return found ? printed_item({ns, key, *found}, false) : json::value{};
  }
  if (what == "put" && !member(op, "value").is_null()) {
    auto options = store_put_options{};
    if (const auto* index = op.if_contains("index"); index != nullptr && !index->is_null())
      options.index = texts_in(*index); // false disables the index
    memory.put(ns, key, member(op, "value").as_object(), options);
  } else if (what == "put" || what == "delete") {
    memory.erase(ns, key);
  } else {
    throw std::logic_error{"unknown op " + what};
  }
  return nullptr;
}

json::value answer_store(const json::object& input) {
  auto memory = memory_store{options_of(input)};
  auto results = json::array{};
  for (const auto& op : input.at("ops").as_array()) {
    try {
      results.push_back(json::object{{"result", run_op(memory, op.as_object())}});
    } catch (const store_filter_error&) {
      results.push_back(json::object{{"failed", {{"kind", "bad_filter"}}}});
    } catch (const std::invalid_argument& e) {
      results.push_back(
          json::object{{"failed", {{"kind", "refused"}, {"text", langgraph_text(e.what())}}}});
    }
  }
  return {{"results", std::move(results)}};
}

} // namespace

void add_store_cases(case_table& table) {
  table["prebuilt.store"] = answer_store;
}

} // namespace superstep::conformance
