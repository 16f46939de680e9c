// SPDX-License-Identifier: Apache-2.0
#include <superstep/messages/python_text.hpp>
#include <superstep/tools/argument_schema.hpp>

#define VALIJSON_USE_EXCEPTIONS 1 // its other way to report a bad schema is to abort
#include <valijson/adapters/boost_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include <algorithm>
#include <charconv>
#include <exception>
#include <functional>
#include <iterator>
#include <set>
#include <utility>

namespace superstep {

struct argument_schema::compiled {
  valijson::Schema schema;
  json::value written;                         ///< for the order of its properties
  std::set<std::string, std::less<>> required; ///< members of the top level

  [[nodiscard]] std::vector<argument_fault> check(const json::object& arguments) const;
};

namespace {

constexpr auto faults_max = std::size_t{10};

using steps = std::vector<std::string>;

/// The validator's steps are `<root>`, `[a]`, `[2]`.
steps steps_of(const steps& written) {
  auto out = steps{};
  for (const auto& step : written)
    if (step.size() >= 2 && step.front() == '[')
      out.push_back(step.substr(1, step.size() - 2));
  return out;
}

/// As people write them: `a.2`.
std::string path_of(const steps& at) {
  auto path = std::string{};
  for (const auto& step : at)
    path += (path.empty() ? "" : ".") + step;
  return path;
}

/// The name in the validator's words for a member that is not there, which it reports for the
/// object around it; empty for other faults.
std::string_view missing_member(std::string_view text) {
  constexpr auto before = std::string_view{"Missing required property '"};
  constexpr auto after = std::string_view{"'."};
  if (!text.starts_with(before) || !text.ends_with(after))
    return {};
  return text.substr(before.size(), text.size() - before.size() - after.size());
}

/// Where the schema has that place: its position among the properties, level by level. The
/// validator goes by the names instead.
std::vector<std::size_t> position_of(const json::value& schema, const steps& at) {
  auto out = std::vector<std::size_t>{};
  const auto* here = schema.if_object();
  for (const auto& step : at) {
    const auto* members = here != nullptr ? here->if_contains("properties") : nullptr;
    const auto* items = here != nullptr ? here->if_contains("items") : nullptr;
    here = nullptr;
    auto position = static_cast<std::size_t>(-1); // unknown to the schema: behind what it knows
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

/// The validator repeats a fault at every level above it.
bool repeats_inner_fault(const std::string& text) {
  return text.starts_with("Failed to validate against schema associated with") ||
         text.starts_with("Failed to validate item #");
}

} // namespace

result<argument_schema> argument_schema::compile(const json::object& schema) {
  auto made = std::make_shared<compiled>();
  try {
    made->written = json::value(schema);
    auto parser = valijson::SchemaParser{};
    parser.populateSchema(valijson::adapters::BoostJsonAdapter{made->written}, made->schema);
    if (const auto* required = schema.if_contains("required"); required && required->is_array())
      for (const auto& name : required->get_array())
        made->required.emplace(std::string_view{name.as_string()});
  } catch (const std::exception& e) { // the one way in which the validator reports
    return error{errc::invalid_argument,
                 std::string{"not a JSON Schema: "} + e.what() + " in " + to_text(schema)};
  }
  return argument_schema{std::move(made)};
}

std::vector<argument_fault> argument_schema::check(const json::object& arguments) const {
  auto faults = compiled_->check(arguments);
  if (faults.empty())
    return faults;
  auto given = arguments;
  for (const auto& [name, value] : arguments)
    if (value.is_null() && !compiled_->required.contains(std::string_view{name}))
      given.erase(name);
  return given.size() == arguments.size() ? faults : compiled_->check(given);
}

std::vector<argument_fault> argument_schema::compiled::check(const json::object& arguments) const {
  const auto document = json::value(arguments);
  // Not shared: the validator caches compiled patterns while it checks.
  auto validator = valijson::Validator{};
  auto results = valijson::ValidationResults{};
  if (validator.validate(schema, valijson::adapters::BoostJsonAdapter{document}, &results))
    return {};
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
    // One fault per place: the first says what is wrong with it.
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
