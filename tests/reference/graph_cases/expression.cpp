// SPDX-License-Identifier: Apache-2.0
// Evaluates the expressions that recorded cases contain in place of code.
#include "graph_cases/expression.hpp"

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <utility>
#include <vector>

namespace superstep::graph_cases {

namespace {

using arguments = const json::array&; // the operator is the first argument

const json::value nothing{};

const json::value& at(arguments a, std::size_t i) {
  return i < a.size() ? a[i] : nothing;
}

std::int64_t integer(const json::value& v) {
  return v.is_int64() ? v.get_int64() : 0;
}

json::array list(json::value v) {
  return v.is_array() ? std::move(v.get_array()) : json::array{};
}

/// Evaluates the arguments 1 … n.
std::vector<json::value> values(arguments a, scope& in) {
  auto out = std::vector<json::value>{};
  for (auto i = std::size_t{1}; i < a.size(); ++i)
    out.push_back(evaluate(a[i], in));
  return out;
}

json::value field(const json::value& of, const json::value& name) {
  if (!of.is_object() || !name.is_string())
    return nullptr;
  const auto* found = of.get_object().if_contains(name.get_string());
  return found ? *found : json::value{};
}

bool has_field(const json::value& of, const json::value& name) {
  return of.is_object() && name.is_string() && of.get_object().contains(name.get_string());
}

json::value sorted(json::array items) {
  auto keyed = std::vector<std::pair<std::string, json::value>>{};
  for (auto& item : items)
    keyed.emplace_back(to_canonical_text(item), std::move(item));
  std::ranges::stable_sort(keyed, {}, [](const auto& k) -> const auto& { return k.first; });
  auto out = json::array{};
  for (auto& [key, item] : keyed)
    out.push_back(std::move(item));
  return out;
}

std::int64_t length(const json::value& v) {
  if (v.is_array())
    return static_cast<std::int64_t>(v.get_array().size());
  if (v.is_object())
    return static_cast<std::int64_t>(v.get_object().size());
  if (!v.is_string())
    return 0;
  const auto is_first_byte = [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  };
  return std::ranges::count_if(v.get_string(), is_first_byte);
}

json::value item_at(const json::value& of, const json::value& where) {
  if (of.is_object())
    return field(of, where);
  if (!of.is_array())
    return nullptr;
  const auto size = static_cast<std::int64_t>(of.get_array().size());
  const auto i = integer(where) < 0 ? integer(where) + size : integer(where);
  return i >= 0 && i < size ? of.get_array()[static_cast<std::size_t>(i)] : json::value{};
}

json::value map_items(arguments a, scope& in) {
  auto items = list(evaluate(at(a, 1), in));
  const auto name = std::string{at(a, 2).as_string()};
  auto before = in.locals.extract(name);
  auto out = json::array{};
  for (auto& item : items) {
    in.locals[name] = std::move(item);
    out.push_back(evaluate(at(a, 3), in));
  }
  in.locals.erase(name);
  if (before)
    in.locals.insert(std::move(before));
  return out;
}

json::value filter_items(arguments a, scope& in) {
  auto items = list(evaluate(at(a, 1), in));
  const auto name = std::string{at(a, 2).as_string()};
  auto before = in.locals.extract(name);
  auto out = json::array{};
  for (auto& item : items) {
    in.locals[name] = item;
    if (is_true(evaluate(at(a, 3), in)))
      out.push_back(std::move(item));
  }
  in.locals.erase(name);
  if (before)
    in.locals.insert(std::move(before));
  return out;
}

/// Half-open range; negative positions count from the end, and null means no limit.
json::value slice(arguments a, scope& in) {
  const auto v = values(a, in);
  const auto items = list(v.at(0));
  const auto size = static_cast<std::int64_t>(items.size());
  const auto place = [&](std::size_t i, std::int64_t open) {
    if (i >= v.size() || v[i].is_null())
      return open;
    return std::clamp(integer(v[i]) < 0 ? integer(v[i]) + size : integer(v[i]), std::int64_t{0},
                      size);
  };
  auto out = json::array{};
  for (auto i = place(1, 0); i < place(2, size); ++i)
    out.push_back(items[static_cast<std::size_t>(i)]);
  return out;
}

using operation = std::function<json::value(arguments, scope&)>;

operation compare(bool (*holds)(std::int64_t, std::int64_t)) {
  return [holds](arguments a, scope& in) -> json::value {
    const auto v = values(a, in);
    return holds(integer(v.at(0)), integer(v.at(1)));
  };
}

void add_reading(std::map<std::string, operation, std::less<>>& ops) {
  ops["lit"] = [](arguments a, scope&) { return at(a, 1); };
  ops["input"] = [](arguments, scope& in) { return *in.input; };
  ops["get"] = [](arguments a, scope& in) {
    return has_field(*in.input, at(a, 1)) || a.size() < 3 ? field(*in.input, at(a, 1))
                                                          : evaluate(a[2], in);
  };
  ops["has"] = [](arguments a, scope& in) -> json::value { return has_field(*in.input, at(a, 1)); };
  ops["local"] = [](arguments a, scope& in) {
    const auto found = in.locals.find(std::string_view{at(a, 1).as_string()});
    return found == in.locals.end() ? json::value{} : found->second;
  };
  ops["ctx"] = [](arguments a, scope& in) {
    return in.context ? field(*in.context, at(a, 1)) : json::value{};
  };
  ops["attempt"] = [](arguments, scope& in) -> json::value {
    return static_cast<std::int64_t>(in.attempt);
  };
  ops["count"] = [](arguments, scope& in) -> json::value { return in.count; };
}

void add_arithmetic(std::map<std::string, operation, std::less<>>& ops) {
  ops["add"] = [](arguments a, scope& in) -> json::value {
    auto sum = std::int64_t{0};
    for (const auto& v : values(a, in))
      sum += integer(v);
    return sum;
  };
  ops["sub"] = [](arguments a, scope& in) -> json::value {
    const auto v = values(a, in);
    return integer(v.at(0)) - integer(v.at(1));
  };
  ops["mul"] = [](arguments a, scope& in) -> json::value {
    auto product = std::int64_t{1};
    for (const auto& v : values(a, in))
      product *= integer(v);
    return product;
  };
  ops["mod"] = [](arguments a, scope& in) -> json::value {
    const auto v = values(a, in);
    const auto by = integer(v.at(1));
    return by <= 0 ? 0 : ((integer(v.at(0)) % by) + by) % by;
  };
  ops["sum"] = [](arguments a, scope& in) -> json::value {
    auto sum = std::int64_t{0};
    for (const auto& v : list(evaluate(at(a, 1), in)))
      sum += integer(v);
    return sum;
  };
  ops["lt"] = compare([](std::int64_t a, std::int64_t b) { return a < b; });
  ops["le"] = compare([](std::int64_t a, std::int64_t b) { return a <= b; });
  ops["gt"] = compare([](std::int64_t a, std::int64_t b) { return a > b; });
  ops["ge"] = compare([](std::int64_t a, std::int64_t b) { return a >= b; });
}

void add_logic(std::map<std::string, operation, std::less<>>& ops) {
  ops["eq"] = [](arguments a, scope& in) -> json::value {
    const auto v = values(a, in);
    return to_canonical_text(v.at(0)) == to_canonical_text(v.at(1));
  };
  ops["ne"] = [](arguments a, scope& in) -> json::value {
    const auto v = values(a, in);
    return to_canonical_text(v.at(0)) != to_canonical_text(v.at(1));
  };
  ops["and"] = [](arguments a, scope& in) -> json::value {
    return std::ranges::all_of(values(a, in), is_true);
  };
  ops["or"] = [](arguments a, scope& in) -> json::value {
    return std::ranges::any_of(values(a, in), is_true);
  };
  ops["not"] = [](arguments a, scope& in) -> json::value {
    return !is_true(evaluate(at(a, 1), in));
  };
  ops["if"] = [](arguments a, scope& in) {
    return evaluate(is_true(evaluate(at(a, 1), in)) ? at(a, 2) : at(a, 3), in);
  };
}

void add_making(std::map<std::string, operation, std::less<>>& ops) {
  ops["cat"] = [](arguments a, scope& in) -> json::value {
    auto text = std::string{};
    for (const auto& v : values(a, in))
      text += as_text(v);
    return json::value(text);
  };
  ops["list"] = [](arguments a, scope& in) -> json::value {
    auto out = json::array{};
    for (auto& v : values(a, in))
      out.push_back(std::move(v));
    return out;
  };
  ops["obj"] = [](arguments a, scope& in) -> json::value {
    auto out = json::object{};
    for (const auto& [key, e] : at(a, 1).as_object())
      out[key] = evaluate(e, in);
    return out;
  };
  ops["concat"] = [](arguments a, scope& in) -> json::value {
    auto out = json::array{};
    for (auto& v : values(a, in))
      for (auto& item : list(std::move(v)))
        out.push_back(std::move(item));
    return out;
  };
  ops["len"] = [](arguments a, scope& in) -> json::value { return length(evaluate(at(a, 1), in)); };
  ops["sorted"] = [](arguments a, scope& in) { return sorted(list(evaluate(at(a, 1), in))); };
  ops["range"] = [](arguments a, scope& in) -> json::value {
    auto out = json::array{};
    for (auto i = std::int64_t{0}; i < integer(evaluate(at(a, 1), in)); ++i)
      out.push_back(i);
    return out;
  };
  ops["at"] = [](arguments a, scope& in) {
    const auto v = values(a, in);
    return item_at(v.at(0), v.at(1));
  };
  ops["map"] = map_items;
  ops["filter"] = filter_items;
  ops["slice"] = slice;
  ops["send"] = [](arguments a, scope& in) -> json::value {
    auto v = values(a, in);
    return json::object{{"$send", std::move(v.at(0))}, {"arg", v.size() > 1 ? v[1] : nothing}};
  };
}

const std::map<std::string, operation, std::less<>>& operations() {
  static const auto all = [] {
    auto ops = std::map<std::string, operation, std::less<>>{};
    add_reading(ops);
    add_arithmetic(ops);
    add_logic(ops);
    add_making(ops);
    return ops;
  }();
  return all;
}

} // namespace

json::value evaluate(const json::value& expression, scope& in) {
  if (!expression.is_array())
    return expression;
  const auto& a = expression.get_array();
  if (a.empty() || !a[0].is_string())
    throw std::invalid_argument{"not an expression: " + to_text(expression)};
  const auto found = operations().find(std::string_view{a[0].get_string()});
  if (found == operations().end())
    throw std::invalid_argument{"unknown operator in " + to_text(expression)};
  return found->second(a, in);
}

bool is_true(const json::value& v) noexcept {
  switch (v.kind()) {
  case json::kind::null:
    return false;
  case json::kind::bool_:
    return v.get_bool();
  case json::kind::int64:
    return v.get_int64() != 0;
  case json::kind::string:
    return !v.get_string().empty();
  case json::kind::array:
    return !v.get_array().empty();
  case json::kind::object:
    return !v.get_object().empty();
  default:
    return true;
  }
}

std::string as_text(const json::value& v) {
  return v.is_string() ? std::string{v.get_string()} : to_canonical_text(v);
}

const json::value& member(const json::object& of, std::string_view name) {
  const auto* found = of.if_contains(name);
  return found ? *found : nothing;
}

std::string text_member(const json::object& of, std::string_view name) {
  const auto& v = member(of, name);
  return v.is_string() ? std::string{v.get_string()} : std::string{};
}

} // namespace superstep::graph_cases
