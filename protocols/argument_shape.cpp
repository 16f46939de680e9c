// SPDX-License-Identifier: Apache-2.0
// Precomputed facts of tool schemas. They are the fast path for calls that already match their
// schema; other calls use coerce.cpp and matches_schema().
#include "protocols/argument_shape.hpp"

#include "protocols/text.hpp"

#include <superstep/base/detail/assert.hpp>

#include <algorithm>
#include <cmath>

namespace superstep {

namespace {

using schema::kind;

/// Whether the schema has keywords that the fast path does not handle. The callers check `enum`,
/// `items` and `properties` themselves.
bool asks_for_more(const json::object& s) {
  return s.contains("allOf") || s.contains("anyOf") || s.contains("oneOf") || s.contains("const") ||
         s.contains("jsonSchema") || s.contains("patternProperties") || s.contains("prefixItems");
}

bool are_texts(const json::array& list) {
  return std::ranges::all_of(list, [](const auto& each) { return each.is_string(); });
}

parameter make_parameter(std::string_view name, const json::value& of, bool with_items) {
  auto out = parameter{};
  out.name = name;
  out.schema = &of;
  out.kind = schema::kind_of(of);
  out.is_plain_string = out.kind == kind::string;
  const auto& own = schema::unwrap(of);
  out.can_grow = out.is_plain_string && schema::member(own, "enum") == nullptr &&
                 schema::member(own, "allOf") == nullptr;
  if (const auto* items = schema::member(own, "items"); items != nullptr)
    out.has_object_items = schema::kind_of(*items) == kind::object;
  const auto* object = of.if_object();
  const auto* type = schema::member(of, "type");
  if (object == nullptr || type == nullptr || !type->is_string() || asks_for_more(*object))
    return out;
  const auto* members = object->if_contains("enum");
  if (members == nullptr) {
    out.is_scalar = schema::is_scalar(out.kind);
  } else if (members->is_array() && are_texts(members->get_array())) {
    out.is_scalar = out.kind == kind::string;
    out.texts = &members->get_array();
  }
  const auto* each = object->if_contains("items");
  if (with_items && out.kind == kind::array && members == nullptr && each != nullptr)
    if (auto item = make_parameter({}, *each, false); item.is_scalar)
      out.items = std::make_unique<parameter>(std::move(item));
  return out;
}

bool is_one_of(std::string_view s, const json::array& texts) noexcept {
  return std::ranges::any_of(texts,
                             [&](const auto& each) { return text::view(each.get_string()) == s; });
}

bool is_of(const json::value& v, const parameter& p) noexcept {
  if (p.items != nullptr) {
    const auto* list = v.if_array();
    return list != nullptr &&
           std::ranges::all_of(*list, [&](const auto& item) { return is_of(item, *p.items); });
  }
  if (!p.is_scalar)
    return false;
  if (const auto* s = v.if_string())
    return takes_text(p, text::view(*s));
  if (v.is_bool())
    return p.kind == kind::boolean;
  if (const auto* d = v.if_double())
    return p.kind == kind::number || (p.kind == kind::integer && std::trunc(*d) == *d);
  return v.is_number() && (p.kind == kind::number || p.kind == kind::integer);
}

} // namespace

argument_shape::argument_shape(const json::value& wrapped) {
  const auto& of = schema::unwrap(wrapped);
  const auto* properties = schema::properties(of);
  if (properties != nullptr)
    for (const auto& property : *properties)
      parameters_.push_back(make_parameter(text::view(property.key()), property.value(), true));
  std::ranges::sort(parameters_, {}, &parameter::name);
  const auto* object = of.if_object();
  const auto* type = schema::member(of, "type");
  if (properties == nullptr || schema::kind_of(of) != kind::object || asks_for_more(*object) ||
      object->contains("enum") || (type != nullptr && !type->is_string()))
    return;
  is_memberwise_ = true;
  if (const auto* names = object->if_contains("required"); names && names->is_array())
    for (const auto& name : names->get_array())
      if (name.is_string())
        required_.push_back(text::view(name.get_string()));
}

const parameter* argument_shape::find(std::string_view name) const noexcept {
  const auto found = std::ranges::lower_bound(parameters_, name, {}, &parameter::name);
  return found != parameters_.end() && found->name == name ? &*found : nullptr;
}

bool argument_shape::fits(const json::object& arguments) const noexcept {
  return is_memberwise_ &&
         std::ranges::all_of(required_,
                             [&](auto name) { return arguments.if_contains(name) != nullptr; }) &&
         std::ranges::all_of(arguments, [&](const auto& member) {
           const auto* p = find(text::view(member.key()));
           return p != nullptr && is_of(member.value(), *p);
         });
}

bool takes_text(const parameter& p, std::string_view text) noexcept {
  return p.is_scalar && p.kind == kind::string && (p.texts == nullptr || is_one_of(text, *p.texts));
}

std::optional<json::value> bend_text(std::string_view text, const parameter& to) {
  if (!to.is_scalar)
    return {};
  switch (to.kind) {
  case kind::string:
    if (takes_text(to, text))
      return json::value(json::string_view{text.data(), text.size()});
    return {};
  case kind::boolean:
    if (const auto b = text::boolean_of(text::trim(text)))
      return *b;
    return {};
  default:
    return text::number_of(text::trim(text));
  }
}

const argument_shape& argument_shapes::of(const protocol_tool& tool) {
  const auto i = static_cast<std::size_t>(&tool - tools_.data());
  SUPERSTEP_ASSERT(i < tools_.size());
  if (shapes_.empty())
    shapes_.resize(tools_.size());
  if (shapes_[i] == nullptr)
    shapes_[i] = std::make_unique<const argument_shape>(tool.schema);
  return *shapes_[i];
}

} // namespace superstep
