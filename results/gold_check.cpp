// SPDX-License-Identifier: Apache-2.0
// Explains why the rows of a job have no expected answers: before the job runs, or when its output
// is scored.
#include "results/gold_check.hpp"

#include "batch/input_row.hpp"
#include "results/gold.hpp"

namespace superstep::results {

namespace {

/// Returns the names of the members of an object for an error text. Long lists are cut.
std::string names_of(const json::object& line) {
  constexpr auto shown = std::size_t{20};
  auto out = std::string{};
  auto count = std::size_t{0};
  for (const auto& [name, value] : line) {
    if (count++ == shown)
      return out + ", …";
    out.append(out.empty() ? "" : ", ").append(name);
  }
  return out;
}

} // namespace

void gold_facts::add_line(const json::object& line, std::string_view field, std::string_view id) {
  if (names_.empty()) {
    names_ = names_of(line);
    first_id_ = id;
  }
  const auto* const found = column_at(line, field);
  has_field_ = has_field_ || (found != nullptr && is_answer(*found));
}

void gold_facts::add(const gold_facts& more) {
  if (names_.empty()) {
    names_ = more.names_;
    first_id_ = more.first_id_;
  }
  hint_ = more.hint_;
  has_field_ = has_field_ || more.has_field_;
}

error gold_facts::to_error(const score_options& options, const std::string& rows,
                           std::string_view row) const {
  const auto is_of_file = !options.gold_file.empty();
  if (!has_field_) {
    auto text =
        is_of_file ? "--gold: no line of " + options.gold_file : "--gold: no row of " + rows;
    text += " has an expected answer in the column '" + options.field + "'";
    if (!names_.empty())
      text += "; the columns are " + names_ + hint_;
    else if (!is_of_file)
      text += "; the output has no columns, use --gold-file with the input of the job";
    return {errc::not_found, std::move(text)};
  }
  if (is_of_file && !is_matched_)
    return {errc::not_found,
            "--gold-file: no line of " + options.gold_file + " has the id of a row of " + rows +
                " (the first line has the id '" + first_id_ + "', the first row '" +
                std::string{row} + "'); name the column with the ids with --id-field"};
  return {errc::not_found, "--gold: the lines of the rows of " + rows +
                               " have no expected answer in the column '" + options.field + "'"};
}

result<void> check_gold(const score_options& options) {
  auto facts = gold_facts{};
  auto gold = gold_file_ptr{};
  if (!options.gold_file.empty()) {
    auto opened = open_gold(options, options.gold_file, input_format::by_name);
    if (!opened)
      return opened.error();
    gold = *std::move(opened);
    facts.add(gold->facts());
    if (!facts.has_field())
      return facts.to_error(options, options.input, {});
  }
  if (options.input.empty())
    return {};
  const auto rows =
      record_file::open(input_of(options, options.input, options.input_as), options.is_cancelled);
  if (!rows)
    return rows.error();
  if (!gold)
    facts.set_hint(rows->delimiter_hint());
  const auto checks_all = may_be_unusable(options.method); // those of all rows are checked
  const auto check = [&](const json::object& line, const std::string& id) -> result<void> {
    const auto* const wanted = checks_all ? column_at(line, options.field) : nullptr;
    if (wanted == nullptr || !is_answer(*wanted))
      return {};
    auto usable = check_expected(options.method, *wanted);
    return usable ? usable : error{usable.error().code, "row '" + id + "': " + usable.error().text};
  };
  auto is_found = false;
  auto first = std::string{};
  auto numbers = number_check{rows->is_table()};
  const auto see = [&](const result<json::object>& row, const record_place& place) -> result<bool> {
    if (auto wanted = check_cancelled(options); !wanted)
      return wanted.error();
    if (!row)
      return true; // the job reports invalid lines
    const auto id = find_row_key(*row, options.id_field, place.number);
    if (first.empty())
      first = id;
    if (!gold) {
      facts.add_line(*row, options.field, id);
      is_found = facts.has_field();
      if (auto usable = check(*row, id); !usable)
        return usable.error();
      return !is_found || checks_all;
    }
    if (id != find_row_key(*row, options.id_field, place.number + 1)) // it has no id of its own
      numbers.add(id);
    if (auto checked = numbers.check(*gold); !checked)
      return checked.error();
    const auto line = gold->find(id);
    if (!line)
      return line.error();
    is_found = is_found || !line->empty();
    if (auto usable = check(*line, id); !usable)
      return usable.error();
    return !is_found || checks_all;
  };
  if (auto read = rows->for_each(see); !read)
    return read;
  return is_found || first.empty() ? result<void>{} : facts.to_error(options, options.input, first);
}

} // namespace superstep::results
