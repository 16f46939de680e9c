// SPDX-License-Identifier: Apache-2.0
// Validates arguments with valijson. Converts its messages to errors with short paths, in the order
// of the schema's properties. schema_patterns.cpp checks a schema before it is compiled here.
// schema_check.hpp adds the limits that valijson lacks.
#include "flat_schema.hpp"
#include "messages/python_text.hpp"
#include "optional_nulls.hpp"
#include "schema_check.hpp"

#include <superstep/tools/detail/argument_schema.hpp>

#include <re2/re2.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <exception>
#include <functional>
#include <iterator>
#include <new>
#include <set>
#include <utility>

namespace superstep {

struct argument_schema::compiled {
  valijson::Schema schema;
  detail::pattern_table patterns;
  /// The schema as given, which determines the order of errors.
  json::value written;
  std::set<std::string, std::less<>> required; ///< required members of the arguments object
  std::optional<detail::flat_schema> flat; ///< not set if the schema needs the complete validator

  [[nodiscard]] std::vector<argument_fault> check(const json::object& arguments,
                                                  const schema_check_limits& limits) const;
};

namespace {

constexpr auto faults_max = std::size_t{10};

using steps = std::vector<std::string>;

/// Removes `<root>` and the brackets from the validator's path: `<root>`, `[a]`, `[2]` becomes `a`,
/// `2`.
steps steps_of(const steps& written) {
  auto out = steps{};
  for (const auto& step : written)
    if (step.size() >= 2 && step.front() == '[')
      out.push_back(step.substr(1, step.size() - 2));
  return out;
}

/// Formats a path for error texts: `a.2`.
std::string path_of(const steps& at) {
  auto path = std::string{};
  for (const auto& step : at)
    path += (path.empty() ? "" : ".") + step;
  return path;
}

/// Returns the name of the missing member from a message of the validator; empty for other
/// messages. Such a message has the path of the object, and the name is only in its text.
std::string_view missing_member(std::string_view text) {
  constexpr auto before = std::string_view{"Missing required property '"};
  constexpr auto after = std::string_view{"'."};
  if (!text.starts_with(before) || !text.ends_with(after))
    return {};
  return text.substr(before.size(), text.size() - before.size() - after.size());
}

/// Returns the position of a path in the schema: for each level, the index of the property. Errors
/// are sorted by position, because the validator reports them in alphabetical order.
std::vector<std::size_t> position_of(const json::value& schema, const steps& at) {
  auto out = std::vector<std::size_t>{};
  const auto* here = schema.if_object();
  for (const auto& step : at) {
    const auto* members = here != nullptr ? here->if_contains("properties") : nullptr;
    const auto* items = here != nullptr ? here->if_contains("items") : nullptr;
    here = nullptr;
    auto position = static_cast<std::size_t>(-1); // unknown members are last
    if (members != nullptr && members->is_object()) {
      const auto& known = members->get_object();
      const auto found = known.find(step);
      if (found != known.end()) {
        position = static_cast<std::size_t>(std::distance(known.begin(), found));
        here = found->value().if_object();
      }
    } else if (items != nullptr) {
      std::from_chars(step.data(), step.data() + step.size(), position);
      here = items->if_object();
    }
    out.push_back(position);
  }
  return out;
}

/// Whether a message only repeats an inner error. The validator repeats an error at each enclosing
/// level.
bool repeats_inner_fault(const std::string& text) {
  return text.starts_with("Failed to validate against schema associated with") ||
         text.starts_with("Failed to validate item #");
}

/// Converts integers above the maximum of std::int64_t to doubles, because the validator does not
/// know them.
void convert_large_integers(json::value& in) {
  if (auto* object = in.if_object())
    for (auto& member : *object)
      convert_large_integers(member.value());
  else if (auto* list = in.if_array())
    std::ranges::for_each(*list, convert_large_integers);
  else if (const auto* number = in.if_uint64())
    in = static_cast<double>(*number);
}

std::string_view text_of(detail::check_ended::reason why) {
  using reason = detail::check_ended::reason;
  switch (why) {
  case reason::too_deep:
    return "cannot be checked: they are nested too deeply for the schema";
  case reason::too_much_work:
    return "cannot be checked: they are too large for the schema";
  case reason::too_late:
    return "cannot be checked: it takes too long";
  case reason::enough_faults:
    break;
  }
  return "do not match the schema";
}

} // namespace

result<argument_schema> argument_schema::compile(const json::object& schema) {
  auto made = std::make_shared<compiled>();
  if (auto fault = detail::read_patterns(schema, made->patterns))
    return error{errc::invalid_argument,
                 (fault->path.empty() ? "" : fault->path + ": ") + fault->text};
  try {
    made->written = json::value(schema);
    auto parser = detail::bounded_parser{};
    parser.populateSchema(valijson::adapters::BoostJsonAdapter{made->written}, made->schema);
    if (const auto* required = schema.if_contains("required"); required && required->is_array())
      for (const auto& name : required->get_array())
        made->required.emplace(std::string_view{name.as_string()});
    made->flat = detail::flat_schema::compile(schema);
  } catch (const std::bad_alloc&) { // memory is exhausted; the schema may be valid
    throw;
  } catch (const std::exception& e) { // the parser throws exceptions of several types
    return error{errc::invalid_argument,
                 std::string{"not a JSON Schema: "} + e.what() + " in " + to_text(schema)};
  }
  return argument_schema{std::move(made)};
}

std::optional<argument_fault> argument_schema::find_fault(const json::object& schema) {
  auto patterns = detail::pattern_table{};
  if (auto fault = detail::read_patterns(schema, patterns))
    return fault;
  auto compiled = compile(schema);
  if (!compiled)
    return argument_fault{"", std::move(compiled).error().text};
  return std::nullopt;
}

std::vector<argument_fault> argument_schema::check(const json::object& arguments,
                                                   const schema_check_limits& limits) const {
  return examine(arguments, limits).faults;
}

checked_arguments argument_schema::examine(const json::object& arguments,
                                           const schema_check_limits& limits) const {
  if (compiled_->flat && compiled_->flat->accepts(arguments))
    return {};
  auto faults = compiled_->check(arguments, limits);
  if (faults.empty())
    return {};
  auto given = arguments;
  if (auto without = detail::without_optional_nulls(compiled_->written, arguments)) {
    given = *std::move(without);
    faults = compiled_->check(given, limits);
  }
  // Of other schemas, such as `not`, only the validator knows whether they forbid null.
  const auto size = given.size();
  if (!faults.empty())
    for (const auto& [name, value] : arguments)
      if (value.is_null() && !compiled_->required.contains(std::string_view{name}))
        if (const auto found = given.find(name); found != given.end())
          given.stable_erase(found);
  if (given.size() != size)
    faults = compiled_->check(given, limits);
  if (faults.empty())
    return {{}, std::move(given)};
  return {std::move(faults), {}};
}

std::vector<argument_fault>
argument_schema::compiled::check(const json::object& arguments,
                                 const schema_check_limits& limits) const {
  auto document = json::value(arguments);
  convert_large_integers(document);
  auto results = valijson::ValidationResults{};
  try {
    // Fast path: validates without collecting errors, because the collection needs memory.
    auto work = detail::check_work{patterns, limits};
    if (detail::check(schema, document, work, nullptr))
      return {};
    detail::check(schema, document, work, &results);
  } catch (const detail::check_ended& ended) {
    if (results.numErrors() == 0)
      return {{"", std::string{text_of(ended.why())}}};
  } catch (const std::bad_alloc&) { // memory is exhausted; the arguments may be valid
    throw;
  } catch (const std::exception& e) {
    return {{"", std::string{"cannot be checked: "} + e.what()}};
  }
  struct placed_fault {
    std::vector<std::size_t> position;
    argument_fault fault;
  };
  auto found = std::vector<placed_fault>{};
  for (const auto& fault : results) {
    if (!found.empty() && repeats_inner_fault(fault.description))
      continue;
    auto at = steps_of(fault.context);
    auto text = fault.description;
    if (const auto missing = missing_member(fault.description); !missing.empty()) {
      at.emplace_back(missing);
      text = "Field required";
    }
    auto path = path_of(at);
    // Reports only the first error of each path.
    if (std::ranges::none_of(found, [&](const auto& f) { return f.fault.path == path; }))
      found.push_back({position_of(written, at), {std::move(path), std::move(text)}});
  }
  if (found.empty())
    return {{"", "does not match the schema"}};
  std::ranges::stable_sort(found, {}, &placed_fault::position);
  auto faults = std::vector<argument_fault>{};
  for (auto& f : found)
    if (faults.size() < faults_max)
      faults.push_back(std::move(f.fault));
  return faults;
}

namespace detail {

namespace {

/// @param pattern captures year, month and day
bool is_date(const re2::RE2& pattern, const std::string& text) {
  using namespace std::chrono;
  auto y = 0;
  auto m = 0U;
  auto d = 0U;
  return re2::RE2::FullMatch(text, pattern, &y, &m, &d) &&
         year_month_day{year{y}, month{m}, day{d}}.ok();
}

} // namespace

// Checks dates and times. The validator's own checks of formats use recursive regular expressions,
// whose stack use depends on the text.
bool is_of_format(const std::string& text, const std::string& format) {
  static constexpr auto date = "([0-9]{4})-([0-9]{2})-([0-9]{2})";
  static constexpr auto time = "(?:[01][0-9]|2[0-3]):[0-5][0-9]:(?:[0-5][0-9]|60)(?:\\.[0-9]+)?"
                               "(?:[Zz]|[+\\-](?:[01][0-9]|2[0-3]):[0-5][0-9])";
  static const auto date_pattern = re2::RE2{date};
  static const auto time_pattern = re2::RE2{time};
  static const auto both_pattern = re2::RE2{std::string{date} + "[Tt]" + time};
  if (format == "date")
    return is_date(date_pattern, text);
  if (format == "time")
    return re2::RE2::FullMatch(text, time_pattern);
  return format != "date-time" || is_date(both_pattern, text);
}

std::size_t hash_of(const valijson::adapters::BoostJsonAdapter& value, check_work& work) {
  work.step();
  const auto mixed = [](std::size_t a, std::size_t b) {
    return a ^ (b + 0x9e3779b97f4a7c15U + (a << 6U) + (a >> 2U));
  };
  auto out = std::size_t{0};
  if (value.isNumber()) {
    out = std::hash<double>{}(value.asDouble());
  } else if (value.isBool()) {
    out = value.asBool() ? 1 : 2;
  } else if (value.isString()) {
    out = std::hash<std::string>{}(value.asString());
  } else if (value.isArray()) {
    for (const auto item : value.asArray())
      out = mixed(out, hash_of(item, work));
  } else if (value.isObject()) {
    for (const auto member : value.asObject()) // members may be in any order
      out += mixed(std::hash<std::string>{}(member.first), hash_of(member.second, work));
  }
  return mixed(out, 1);
}

} // namespace detail

std::string describe_faults(std::string_view tool, const json::object& arguments,
                            const std::vector<argument_fault>& faults) {
  auto text = "Error invoking tool '" + std::string{tool} + "' with kwargs " +
              python_literal(arguments) + " with error:\n ";
  for (auto i = std::size_t{0}; i < faults.size(); ++i)
    text += (i > 0 ? "\n" : "") +
            (faults[i].path.empty() ? std::string{"arguments"} : faults[i].path) + ": " +
            faults[i].text;
  return text + "\n Please fix the error and try again.";
}

} // namespace superstep
