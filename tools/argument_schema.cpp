// SPDX-License-Identifier: Apache-2.0
#include <superstep/tools/argument_schema.hpp>

#define VALIJSON_USE_EXCEPTIONS 1 // its other way to report a bad schema is to abort
#include <valijson/adapters/boost_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include <exception>
#include <functional>
#include <set>
#include <utility>

namespace superstep {

struct argument_schema::compiled {
  valijson::Schema schema;
  std::set<std::string, std::less<>> required; ///< members of the top level

  [[nodiscard]] std::vector<argument_fault> check(const json::object& arguments) const;
};

namespace {

constexpr auto faults_max = std::size_t{10};

/// The validator's steps `<root>`, `[a]`, `[2]` as people write them: `a[2]`.
std::string path_of(const std::vector<std::string>& steps) {
  auto path = std::string{};
  for (const auto& step : steps) {
    if (step.size() < 2 || step.front() != '[')
      continue;
    const auto name = std::string_view{step}.substr(1, step.size() - 2);
    const auto is_index = name.find_first_not_of("0123456789") == std::string_view::npos;
    if (is_index && !name.empty()) {
      path += step;
    } else {
      path += path.empty() ? "" : ".";
      path += name;
    }
  }
  return path;
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
    const auto document = json::value(schema);
    auto parser = valijson::SchemaParser{};
    parser.populateSchema(valijson::adapters::BoostJsonAdapter{document}, made->schema);
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
  auto faults = std::vector<argument_fault>{};
  if (validator.validate(schema, valijson::adapters::BoostJsonAdapter{document}, &results))
    return faults;
  for (const auto& fault : results) {
    if (faults.size() == faults_max)
      break;
    if (faults.empty() || !repeats_inner_fault(fault.description))
      faults.push_back({path_of(fault.context), fault.description});
  }
  if (faults.empty())
    faults.push_back({"", "does not match the schema"});
  return faults;
}

std::string describe_faults(std::string_view tool, const json::object& arguments,
                            const std::vector<argument_fault>& faults) {
  auto text = "Error invoking tool '" + std::string{tool} + "' with kwargs " + to_text(arguments) +
              " with error:";
  for (const auto& fault : faults)
    text +=
        "\n " + (fault.path.empty() ? std::string{"arguments"} : fault.path) + ": " + fault.text;
  return text + "\n Please fix the error and try again.";
}

} // namespace superstep
