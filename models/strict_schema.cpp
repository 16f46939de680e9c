// SPDX-License-Identifier: Apache-2.0
// Converts JSON Schemas to the subset of OpenAI's strict mode, and answers back. The conversion
// stops at the first keyword that the subset does not have.
#include "models/strict_schema.hpp"

#include "base/json_members.hpp"
#include "models/json_schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace superstep {

namespace {

// The limits of the strict mode.
constexpr auto properties_max = std::size_t{5'000};
constexpr auto nesting_max = std::size_t{10};
constexpr auto enum_values_max = std::size_t{1'000};
constexpr auto name_bytes_max = std::size_t{120'000};

constexpr auto depth_max = std::size_t{64}; ///< of schemas inside of schemas, references included
constexpr auto hops_max = 16;               ///< of references to references

std::string_view text_of_key(const json::key_value_pair& member) {
  return {member.key().data(), member.key().size()};
}

/// Returns the schema that a local reference names; null if it names none.
const json::object* find_target(const json::object& root, std::string_view reference) {
  if (reference == "#")
    return &root;
  if (!reference.starts_with("#/"))
    return nullptr;
  const auto* at = &root;
  for (auto rest = reference.substr(2);;) {
    const auto slash = rest.find('/');
    const auto* next = at->if_contains(rest.substr(0, slash));
    at = next ? next->if_object() : nullptr;
    if (!at || slash == std::string_view::npos)
      return at;
    rest.remove_prefix(slash + 1);
  }
}

/// Returns the schema behind references and behind `allOf` with one element.
const json::object& resolved(const json::object& schema, const json::object& root) {
  const auto* at = &schema;
  for (auto hops = 0; hops < hops_max; ++hops) {
    const auto* all = array_in(*at, "allOf");
    const json::object* next = nullptr;
    if (const auto* reference = at->if_contains("$ref"); reference && reference->is_string())
      next = find_target(root, std::string_view{reference->get_string()});
    else if (all && all->size() == 1 && !at->contains("properties"))
      next = (*all)[0].if_object();
    if (!next)
      break;
    at = next;
  }
  return *at;
}

/// Whether a value that matches the schema may be null.
bool accepts_null(const json::value& schema, const json::object& root, int hops = 0) {
  const auto* object = schema.if_object();
  if (!object)
    return !schema.is_bool() || schema.get_bool();
  const auto& seen = resolved(*object, root);
  if (const auto* list = array_in(seen, "enum"))
    return std::ranges::find(*list, json::value{}) != list->end();
  if (const auto* constant = seen.if_contains("const"))
    return constant->is_null();
  for (const auto* key : {"anyOf", "oneOf"})
    if (const auto* any = array_in(seen, key); any && hops < hops_max)
      return std::ranges::any_of(
          *any, [&](const auto& branch) { return accepts_null(branch, root, hops + 1); });
  return seen.contains("type") ? schema::allows_null(seen)
                               : !seen.contains("properties") && !seen.contains("items");
}

/// Returns the JSON type of a value, as in schemas.
std::string_view type_name_of(const json::value& v) {
  if (v.is_string())
    return "string";
  if (v.is_bool())
    return "boolean";
  if (v.is_null())
    return "null";
  if (v.is_int64() || v.is_uint64())
    return "integer";
  if (v.is_double())
    return "number";
  return v.is_array() ? "array" : "object";
}

/// Converts one schema. After the first fault, the rest is not converted.
class strict_conversion {
public:
  explicit strict_conversion(const json::object& root) : root_{root} {}

  /// Returns why the schema cannot be converted; empty if it can.
  [[nodiscard]] const std::string& fault() const noexcept { return fault_; }
  json::object convert(const json::object& schema, const std::string& path, std::size_t depth,
                       std::size_t nesting);

private:
  void refuse(const std::string& path, std::string_view why) {
    if (fault_.empty())
      fault_ = fmt::format("{} {}", path.empty() ? "the root" : path, why);
  }
  json::object convert_value(const json::value& schema, const std::string& path, std::size_t depth,
                             std::size_t nesting) {
    const auto* object = schema.if_object();
    if (!object)
      refuse(path, "must be an object");
    return object ? convert(*object, path, depth + 1, nesting) : json::object{};
  }
  std::optional<json::object> inlined(const json::object& schema, const std::string& path);
  void copy_keywords(const json::object& from, json::object& into, const std::string& path,
                     std::size_t depth, std::size_t nesting);
  void complete_type(json::object& into, const std::string& path);
  void convert_members(const json::object& from, json::object& into, const std::string& path,
                       std::size_t depth, std::size_t nesting);
  void count_values(const json::object& schema, const std::string& path);
  void count_name(std::string_view name, const std::string& path) {
    name_bytes_ += name.size();
    if (name_bytes_ > name_bytes_max)
      refuse(path, fmt::format("all names and enum values together have more than {} bytes",
                               name_bytes_max));
  }

  const json::object& root_;
  std::string fault_;
  std::size_t properties_ = 0;
  std::size_t enum_values_ = 0;
  std::size_t name_bytes_ = 0;
};

/// Returns the schema in which a reference or a single `allOf` element is replaced by its target;
/// nullopt if it has neither, or is only a reference.
std::optional<json::object> strict_conversion::inlined(const json::object& schema,
                                                       const std::string& path) {
  const auto* reference = schema.if_contains("$ref");
  const auto* all = array_in(schema, "allOf");
  if (!reference && !all)
    return std::nullopt;
  const json::object* target = nullptr;
  if (reference && reference->is_string())
    target = find_target(root_, std::string_view{reference->get_string()});
  else if (all && all->size() == 1)
    target = (*all)[0].if_object();
  if (!target) {
    refuse(path, reference ? "has a $ref that names no schema of this document"
                           : "has allOf with several schemas");
    return std::nullopt;
  }
  auto out = *target;
  auto has_more = false;
  for (const auto& member : schema) {
    const auto key = text_of_key(member);
    if (is_one_of(key, {"title", "description"})) {
      out[key] = member.value();
      has_more = true;
    } else if (!is_one_of(key, {"$ref", "allOf", "default", "examples", "$comment"})) {
      refuse(path, fmt::format("has '{}' beside {}", key, reference ? "$ref" : "allOf"));
    }
  }
  if (reference && !has_more)
    return std::nullopt;
  return out;
}

void strict_conversion::count_values(const json::object& schema, const std::string& path) {
  const auto count = [&](const json::value& v) {
    if (v.is_object() || v.is_array())
      refuse(path, "has an enum or const value that is an object or a list");
    if (++enum_values_ > enum_values_max)
      refuse(path, fmt::format("all enums together have more than {} values", enum_values_max));
    if (const auto* text = v.if_string())
      count_name({text->data(), text->size()}, path);
  };
  if (const auto* list = array_in(schema, "enum"))
    std::ranges::for_each(*list, count);
  if (const auto* constant = schema.if_contains("const"))
    count(*constant);
}

/// Adds the type that enum, const or the members of a schema imply.
void strict_conversion::complete_type(json::object& into, const std::string& path) {
  if (into.contains("type") || into.contains("anyOf") || into.contains("$ref"))
    return;
  auto types = json::array{};
  const auto add = [&](const json::value& v) {
    const auto name = json::value(type_name_of(v));
    if (std::ranges::find(types, name) == types.end())
      types.push_back(name);
  };
  if (const auto* list = array_in(into, "enum"))
    std::ranges::for_each(*list, add);
  else if (const auto* constant = into.if_contains("const"))
    add(*constant);
  else if (into.contains("properties"))
    types.emplace_back("object");
  else if (into.contains("items"))
    types.emplace_back("array");
  if (types.empty())
    refuse(path, "has no type");
  into["type"] = types.size() == 1 ? types[0] : json::value(std::move(types));
}

void strict_conversion::copy_keywords(const json::object& from, json::object& into,
                                      const std::string& path, std::size_t depth,
                                      std::size_t nesting) {
  for (const auto& member : from) {
    const auto key = text_of_key(member);
    const auto& value = member.value();
    const auto inner = path.empty() ? std::string{key} : fmt::format("{}.{}", path, key);
    if (is_one_of(key, {"$schema", "$id", "$comment", "default", "examples"}) ||
        is_one_of(key, {"properties", "required", "additionalProperties"}))
      continue; // convert_members() reads the last three
    if (is_one_of(key, {"type", "title", "description", "enum", "const", "pattern", "$ref"}) ||
        is_one_of(key, {"multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
                        "minItems", "maxItems"})) {
      into[key] = value;
    } else if (key == "format") {
      const auto name = value.is_string() ? std::string_view{value.get_string()} : "";
      if (!is_one_of(name, {"date-time", "time", "date", "duration", "email", "hostname", "ipv4",
                            "ipv6", "uuid"}))
        refuse(path, fmt::format("has the format '{}', which the strict mode does not have", name));
      into[key] = value;
    } else if (key == "items") {
      into[key] = convert_value(value, inner, depth, nesting);
    } else if (key == "anyOf" && value.is_array() && !path.empty()) {
      auto branches = json::array{};
      for (const auto& branch : value.get_array())
        branches.emplace_back(
            convert_value(branch, fmt::format("{}.{}", inner, branches.size()), depth, nesting));
      into[key] = std::move(branches);
    } else if (is_one_of(key, {"$defs", "definitions"}) && value.is_object()) {
      auto named = json::object{};
      for (const auto& one : value.get_object()) {
        count_name(text_of_key(one), inner);
        // The nesting of a definition counts where it is used; it is not known here.
        named[one.key()] =
            convert_value(one.value(), fmt::format("{}.{}", inner, text_of_key(one)), depth, 0);
      }
      into[key] = std::move(named);
    } else {
      refuse(path, fmt::format("has the keyword '{}', which the strict mode does not have", key));
    }
  }
}

/// Converts `properties`: all members become required, and optional ones may be null.
void strict_conversion::convert_members(const json::object& from, json::object& into,
                                        const std::string& path, std::size_t depth,
                                        std::size_t nesting) {
  const auto* more = from.if_contains("additionalProperties");
  const auto* properties = object_in(from, "properties");
  if (more && *more != false)
    refuse(path, "allows additional properties");
  if (!properties && !more)
    refuse(path, "has no properties, so it allows any members");
  if (nesting >= nesting_max)
    refuse(path, fmt::format("is nested more than {} levels deep", nesting_max));
  const auto* listed = array_in(from, "required");
  auto converted = json::object{};
  auto names = json::array{};
  for (const auto& member : properties ? *properties : json::object{}) {
    const auto name = text_of_key(member);
    const auto inner = fmt::format("{}{}properties.{}", path, path.empty() ? "" : ".", name);
    if (++properties_ > properties_max)
      refuse(path,
             fmt::format("all objects together have more than {} properties", properties_max));
    count_name(name, inner);
    auto schema = convert_value(member.value(), inner, depth, nesting + 1);
    const auto is_required =
        listed && std::ranges::find(*listed, json::value(name)) != listed->end();
    if (!is_required && !accepts_null(member.value(), root_)) {
      if (auto* any = schema.if_contains("anyOf"); any && schema.size() == 1)
        any->as_array().push_back(json::object{{"type", "null"}});
      else
        schema = {{"anyOf", json::array{std::move(schema), json::object{{"type", "null"}}}}};
    }
    converted[name] = std::move(schema);
    names.emplace_back(name);
  }
  for (const auto& name : listed ? *listed : json::array{})
    if (!name.is_string() || !converted.contains(name.get_string()))
      refuse(path, "requires a member that is not one of its properties");
  into["properties"] = std::move(converted);
  into["required"] = std::move(names);
  into["additionalProperties"] = false;
}

json::object strict_conversion::convert(const json::object& schema, const std::string& path,
                                        std::size_t depth, std::size_t nesting) {
  if (depth > depth_max)
    refuse(path, "is nested too deeply, or contains itself with a description");
  if (!fault_.empty())
    return {};
  if (const auto whole = inlined(schema, path))
    return convert(*whole, path, depth + 1, nesting);
  auto out = json::object{};
  copy_keywords(schema, out, path, depth, nesting);
  if (schema.contains("properties"))
    out["properties"] = json::object{}; // implies the type; see complete_type()
  complete_type(out, path);
  count_values(schema, path);
  const auto* type = out.if_contains("type");
  const auto is_of = [&](std::string_view name) {
    const auto* list = type ? type->if_array() : nullptr;
    return type && (*type == json::value(name) ||
                    (list && std::ranges::find(*list, json::value(name)) != list->end()));
  };
  const auto is_array = is_of("array"); // first, because new members of `out` move its type
  if (is_of("object"))
    convert_members(schema, out, path, depth, nesting);
  else if (schema.contains("properties"))
    refuse(path, "has properties, but not the type object");
  if (is_array && !out.contains("items"))
    refuse(path, "has the type array, but no items");
  return out;
}

/// The form of an optional member that is absent.
enum class absence { missing, null };

/// Writes absent members in this form; see remove_absent() and add_absent(). `levels` bounds the
/// recursion of schemas that contain themselves.
void write_absent(json::value& v, absence form, const json::value& given, const json::object& root,
                  int levels) {
  const auto* object = given.if_object();
  if (!object || levels == 0 || !v.is_structured())
    return;
  const auto& schema = resolved(*object, root);
  if (const auto* any = array_in(schema, "anyOf"))
    for (const auto& branch : *any) {
      auto candidate = v;
      write_absent(candidate, form, branch, root, levels - 1);
      const auto* inner = branch.if_object();
      if (inner && matches_schema(candidate, resolved(*inner, root))) {
        v = std::move(candidate);
        break;
      }
    }
  if (const auto* items = schema.if_contains("items"); items && v.is_array())
    for (auto& item : v.get_array())
      write_absent(item, form, *items, root, levels - 1);
  const auto* properties = object_in(schema, "properties");
  if (!properties || !v.is_object())
    return;
  const auto* listed = array_in(schema, "required");
  auto& members = v.get_object();
  for (const auto& property : *properties) {
    auto* member = members.if_contains(property.key());
    const auto is_required =
        listed && std::ranges::find(*listed, json::value(property.key())) != listed->end();
    const auto is_absent = !member || member->is_null();
    if (!is_absent)
      write_absent(*member, form, property.value(), root, levels - 1);
    else if (form == absence::missing && !is_required && !accepts_null(property.value(), root))
      members.erase(property.key());
    else if (form == absence::null && is_required && accepts_null(property.value(), root))
      members[property.key()] = nullptr;
  }
}

constexpr auto schema_levels_max = 256;

} // namespace

result<json::object> to_strict_schema(const json::object& schema) {
  if (type_of(schema) != "object")
    return error{errc::invalid_argument, "the root must have the type object"};
  auto conversion = strict_conversion{schema};
  auto out = conversion.convert(schema, {}, 0, 0);
  if (!conversion.fault().empty())
    return error{errc::invalid_argument, conversion.fault()};
  return out;
}

std::optional<json::object> strict_form(const answer_schema& of) {
  if (!of.is_strict)
    return std::nullopt;
  auto out = to_strict_schema(of.schema);
  return out ? std::optional{*std::move(out)} : std::nullopt;
}

void remove_absent(json::value& answer, const json::object& schema) {
  write_absent(answer, absence::missing, schema, schema, schema_levels_max);
}

void add_absent(json::value& answer, const json::object& schema) {
  write_absent(answer, absence::null, schema, schema, schema_levels_max);
}

} // namespace superstep
