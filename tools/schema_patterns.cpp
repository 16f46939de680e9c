// SPDX-License-Identifier: Apache-2.0
// Checks a schema before valijson parses it, because valijson's parser recurses without bound and
// compiles patterns with std::regex. argument_schema.cpp uses it.
#include "schema_patterns.hpp"

#include "base/utf8.hpp"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <utility>

namespace superstep::detail {

namespace {

// Limits of one schema. The parser recurses for each level of a schema, and the validator for each
// level of the arguments.
constexpr auto levels_max = std::size_t{64};
constexpr auto values_max = std::size_t{100'000};
constexpr auto patterns_max = std::size_t{1'000};
constexpr auto pattern_bytes_max = std::size_t{10'000};
// References are limited, because the parser matches them with std::regex, which recurses.
constexpr auto reference_bytes_max = std::size_t{1'000};
constexpr auto references_in_a_row_max = std::size_t{32};
constexpr auto pattern_memory_max = std::int64_t{4} << 20;

std::string as_std(json::string_view text) {
  return {text.data(), text.size()};
}

re2::StringPiece piece(std::string_view text) {
  return {text.data(), text.size()};
}

std::optional<std::uint32_t> hex4(std::string_view text) {
  auto code = std::uint32_t{0};
  if (text.size() < 4)
    return std::nullopt;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + 4, code, 16);
  if (fault != std::errc{} || end != text.data() + 4)
    return std::nullopt;
  return code;
}

/// Converts `\u00e9` to `\x{00e9}`, and a surrogate pair to a single character. Returns the number
/// of bytes read; 0 if `rest` does not begin with such an escape.
std::size_t append_escaped_unit(std::string& out, std::string_view rest) {
  const auto first = rest.starts_with("\\u") ? hex4(rest.substr(2)) : std::nullopt;
  if (!first)
    return 0;
  auto code = *first;
  auto length = std::size_t{6};
  const auto second = code >= 0xD800 && code < 0xDC00 && rest.substr(6).starts_with("\\u")
                          ? hex4(rest.substr(8))
                          : std::nullopt;
  if (second && *second >= 0xDC00 && *second < 0xE000) {
    code = 0x10000 + ((code - 0xD800) << 10U) + (*second - 0xDC00);
    length = 12;
  }
  auto digits = std::array<char, 8>{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), code, 16).ptr;
  out += "\\x{";
  out.append(digits.data(), end);
  out += '}';
  return length;
}

std::string re2_form(std::string_view pattern) {
  auto out = std::string{};
  for (auto i = std::size_t{0}; i < pattern.size();) {
    const auto rest = pattern.substr(i);
    if (const auto read = append_escaped_unit(out, rest); read > 0) {
      i += read;
    } else if (rest.front() == '\\' && rest.size() > 1) {
      out += rest.substr(0, 2);
      i += 2;
    } else if (rest.starts_with("(?<") && !rest.starts_with("(?<=") && !rest.starts_with("(?<!")) {
      out += "(?P<";
      i += 3;
    } else {
      out += rest.front();
      ++i;
    }
  }
  return out;
}

std::string unescaped_step(std::string_view step) {
  auto out = std::string{};
  for (auto i = std::size_t{0}; i < step.size(); ++i) {
    const auto escaped = step.substr(i, 2);
    auto code = std::uint32_t{0};
    if (escaped == "~0" || escaped == "~1") {
      out += escaped == "~0" ? '~' : '/';
      ++i;
    } else if (step[i] == '%' && i + 2 < step.size() &&
               std::from_chars(step.data() + i + 1, step.data() + i + 3, code, 16).ptr ==
                   step.data() + i + 3) {
      out += static_cast<char>(code);
      i += 2;
    } else {
      out += step[i];
    }
  }
  return out;
}

/// Returns the part of the schema to which a reference such as `#/definitions/a` points; nullptr if
/// it does not exist, for which the parser reports an error.
const json::value* referred(const json::value& root, std::string_view reference) {
  const auto hash = reference.find('#');
  auto rest = hash == std::string_view::npos ? std::string_view{} : reference.substr(hash + 1);
  const auto* at = &root;
  while (at != nullptr && !rest.empty()) {
    rest.remove_prefix(rest.front() == '/' ? 1 : 0);
    const auto step = unescaped_step(rest.substr(0, rest.find('/')));
    rest.remove_prefix(std::min(rest.size(), rest.find('/')));
    if (step.empty() && rest.find_first_not_of('/') == std::string_view::npos)
      return at;
    auto index = std::size_t{0};
    if (const auto* object = at->if_object())
      at = object->if_contains(step);
    else if (const auto* list = at->if_array();
             list != nullptr &&
             std::from_chars(step.data(), step.data() + step.size(), index).ec == std::errc{})
      at = index < list->size() ? &(*list)[index] : nullptr;
    else
      at = nullptr;
  }
  return at;
}

/// Whether the validator can use this number for multipleOf. valijson divides by integers without a
/// check for 0, and reads integers above 2^63 as negative numbers.
bool is_factor(const json::value& v) {
  return v.is_number() && !v.is_uint64() && v.to_number<double>() > 0;
}

/// Visits each value of a schema once. Values that are not schemas, such as those in `enum`, are
/// only counted.
class walk {
public:
  walk(const json::value& root, pattern_table& into) : root_{root}, into_{into} {}

  bool schema(const json::value& at, const std::string& path, std::size_t level) {
    if (!count(path, level))
      return false;
    if (const auto* list = at.if_array())
      return each(*list, path, level);
    const auto* object = at.if_object();
    if (object == nullptr)
      return true;
    for (const auto& member : *object)
      if (!keyword(as_std(member.key()), member.value(), step(path, member.key()), level))
        return false;
    return true;
  }

  [[nodiscard]] std::optional<argument_fault> take_fault() { return std::move(fault_); }

private:
  static std::string step(const std::string& path, json::string_view name) {
    return (path.empty() ? "" : path + '.') + as_std(name);
  }

  bool refuse(const std::string& path, std::string text) {
    fault_ = argument_fault{path, std::move(text)};
    return false;
  }

  bool count(const std::string& path, std::size_t level) {
    if (level > levels_max)
      return refuse(path, "is nested deeper than " + std::to_string(levels_max) + " levels");
    if (++values_ > values_max)
      return refuse(path, "the schema has more than " + std::to_string(values_max) + " values");
    return true;
  }

  bool each(const json::array& list, const std::string& path, std::size_t level) {
    auto index = std::size_t{0};
    return std::ranges::all_of(list, [&](const auto& item) {
      return schema(item, step(path, std::to_string(index++)), level + 1);
    });
  }

  bool keyword(const std::string& name, const json::value& value, const std::string& path,
               std::size_t level) {
    if (name == "enum" || name == "const" || name == "default" || name == "examples")
      return plain(value, path, level + 1);
    if (name == "multipleOf" && value.is_primitive() && !is_factor(value))
      return refuse(path, "must be a number greater than 0");
    if (const auto* text = value.if_string()) {
      if (name == "pattern")
        return pattern(as_std(*text), path);
      if (name == "$ref" || name == "id" || name == "$id")
        return reference(as_std(*text), path);
      return count(path, level);
    }
    const auto holds_schemas = name == "properties" || name == "patternProperties" ||
                               name == "definitions" || name == "$defs" || name == "dependencies";
    if (!holds_schemas || !value.is_object())
      return schema(value, path, level + 1);
    return std::ranges::all_of(value.get_object(), [&](const auto& member) {
      const auto at = step(path, member.key());
      return (name != "patternProperties" || pattern(as_std(member.key()), at)) &&
             schema(member.value(), at, level + 2);
    });
  }

  /// Visits a value that is not a schema. It is counted, because the validator copies and compares
  /// it.
  bool plain(const json::value& value, const std::string& path, std::size_t level) {
    if (!count(path, level))
      return false;
    if (const auto* list = value.if_array())
      return std::ranges::all_of(*list, [&](const auto& v) { return plain(v, path, level + 1); });
    if (const auto* object = value.if_object())
      return std::ranges::all_of(*object,
                                 [&](const auto& v) { return plain(v.value(), path, level + 1); });
    return true;
  }

  bool pattern(const std::string& text, const std::string& path) {
    if (into_.contains(text))
      return true;
    if (into_.size() == patterns_max)
      return refuse(path, "the schema has more than " + std::to_string(patterns_max) + " patterns");
    auto compiled = compile_pattern(text);
    if (!compiled)
      return refuse(path, compiled.error().text);
    into_.emplace(text, *std::move(compiled));
    return true;
  }

  /// Rejects long or circular chains of references, because the parser follows a chain by
  /// recursion.
  bool reference(const std::string& text, const std::string& path) {
    if (text.size() > reference_bytes_max)
      return refuse(path, "is longer than " + std::to_string(reference_bytes_max) + " bytes");
    auto next = text;
    for (auto i = std::size_t{0}; i < references_in_a_row_max; ++i) {
      const auto* target = referred(root_, next);
      const auto* object = target != nullptr ? target->if_object() : nullptr;
      const auto* further = object != nullptr ? object->if_contains("$ref") : nullptr;
      if (further == nullptr || !further->is_string())
        return true;
      next = as_std(further->get_string());
    }
    return refuse(path, "starts a chain of more than " + std::to_string(references_in_a_row_max) +
                            " references, or a circular one");
  }

  const json::value& root_;
  pattern_table& into_;
  std::size_t values_ = 0;
  std::optional<argument_fault> fault_;
};

} // namespace

result<std::unique_ptr<const re2::RE2>> compile_pattern(std::string_view pattern) {
  const auto shown = [&] {
    constexpr auto shown_max = std::size_t{100};
    return "the pattern '" + shortened(pattern, shown_max) + '\'';
  };
  if (pattern.size() > pattern_bytes_max)
    return error{errc::too_large,
                 shown() + " is longer than " + std::to_string(pattern_bytes_max) + " bytes"};
  auto options = re2::RE2::Options{};
  options.set_log_errors(false);
  options.set_max_mem(pattern_memory_max);
  auto out = std::make_unique<const re2::RE2>(piece(re2_form(pattern)), options);
  if (!out->ok())
    return error{errc::invalid_argument,
                 shown() + " cannot be compiled (" + out->error() +
                     "); look-around, back references and repetitions of more than 1,000 are not "
                     "supported (RE2 syntax)"};
  return std::unique_ptr<const re2::RE2>{std::move(out)};
}

bool matches(const re2::RE2& pattern, std::string_view text) {
  return re2::RE2::PartialMatch(piece(text), pattern);
}

std::optional<argument_fault> read_patterns(const json::object& schema, pattern_table& into) {
  const auto root = json::value(schema);
  auto all = walk{root, into};
  all.schema(root, "", 0);
  return all.take_fault();
}

} // namespace superstep::detail
