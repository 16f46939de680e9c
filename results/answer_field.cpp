// SPDX-License-Identifier: Apache-2.0
// Checks the field of --answer, so that a misspelled name does not compare empty texts.
#include "results/answer_field.hpp"

#include "batch/row_fields.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace superstep::results {

namespace {

constexpr auto prefix = std::string_view{"response."};

/// Whether a list has a name, or a name to which dots in `path` lead.
bool has_path(std::span<const std::string> names, std::string_view path) noexcept {
  return std::ranges::any_of(names, [path](const std::string& name) {
    return path == name || (path.starts_with(name) && path[name.size()] == '.');
  });
}

bool is_in_whole_lines(std::string_view path) {
  const auto first = path.substr(0, path.find('.'));
  return detail::is_row_field(first) || first == "columns" || first == "custom_id";
}

} // namespace

void answer_field::add(simdjson::dom::object line, const result_line& row) {
  if (row.status != result_status::ok)
    return;
  is_found_ = is_found_ || row.has_answer;
  if (names_.empty())
    names_ = field_names(line);
}

result<void> answer_field::check(const std::string& output) const {
  if (is_found_ || names_.empty())
    return {};
  const auto has = fmt::format("the fields are {}", fmt::join(names_, ", "));
  if (name_.empty())
    return error{errc::not_found,
                 output + ": the rows have no answer; select a field with --answer; " + has};
  return error{errc::not_found,
               "--answer: no row of " + output + " has the field '" + name_ + "'; " + has};
}

result<void> check_answer_field(std::string_view name, std::span<const std::string> response,
                                std::span<const std::string> fields) {
  const auto member = name.starts_with(prefix) ? name.substr(prefix.size()) : name;
  const auto is_member = has_path(response, name) || has_path(response, member);
  if (fields.empty()) {
    if (is_member || is_in_whole_lines(name))
      return {};
    if (response.empty())
      return error{
          errc::invalid_argument,
          fmt::format("--answer: '{}' is not a field of the output, and the agent file has "
                      "no structured response (the key response)",
                      name)};
    return error{errc::invalid_argument,
                 fmt::format("--answer: '{}' is not a member of the response; its members are {}",
                             name, fmt::join(response, ", "))};
  }
  const auto selects = [&](std::string_view field) {
    return std::ranges::find(fields, field) != fields.end();
  };
  const auto has_response =
      selects("response") || selects("structured_response") || selects("output");
  if ((is_member && has_response) || has_path(fields, name) || has_path(fields, member) ||
      has_path(fields, std::string{prefix}.append(member)))
    return {};
  return error{errc::invalid_argument,
               fmt::format("--answer: '{}' is not in the output; --fields selects {}", name,
                           fmt::join(fields, ", "))};
}

} // namespace superstep::results
