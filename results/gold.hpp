// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "results/gold_check.hpp"
#include "results/number_check.hpp"
#include "results/record_file.hpp"
#include "results/result_line.hpp"
#include "results/score.hpp"

#include <superstep/base/error.hpp>
#include <superstep/base/json.hpp>

#include <simdjson.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace superstep::results {

/// Returns the member of an object at a path such as `metadata.answer`. A member whose name
/// contains the dots is found first. nullptr if there is none.
[[nodiscard]] const json::value* member_at(const json::object& from, std::string_view path);

/// Returns the column that --gold names, like member_at(). The name may have the prefix `columns.`,
/// as in outputs with selected fields.
[[nodiscard]] const json::value* column_at(const json::object& from, std::string_view name);

/// Whether the value of a column is an expected answer. A null and a text without characters
/// except white space are not: CSV files have empty cells for missing values.
[[nodiscard]] bool is_answer(const json::value& column) noexcept;

/// Returns the columns of an output line; an empty object if there are none.
[[nodiscard]] json::object columns_of(simdjson::dom::object line);

/// Returns the options that open a file with expected answers, or the input of the job.
[[nodiscard]] batch_options input_of(const score_options& options, const std::string& path,
                                     input_format format);

/// A file with expected answers, indexed by the ids of its lines. Reads all formats of the input of
/// a job. Needs 32 bytes of memory per line.
class gold_file {
public:
  /// Reads the ids of all lines. Skips invalid lines of the input of the job, because the job
  /// reports them; in another file, they are errors.
  /// @param options `delimiter` and `id_field` describe the file; `output` names the folder for a
  /// decompressed copy
  [[nodiscard]] static result<gold_file> open(const score_options& options, const std::string& path,
                                              input_format format);

  /// Returns the line for a row, or for the row of which it is a repetition (`id#2`). An empty
  /// object if there is none.
  [[nodiscard]] result<json::object> find(const std::string& key) const;
  /// Facts about the lines.
  [[nodiscard]] const gold_facts& facts() const noexcept { return facts_; }
  /// Whether the lines have no ids, so that their numbers are used.
  [[nodiscard]] bool is_numbered() const noexcept { return is_numbered_; }
  /// The number of the last line; 0 if there is none.
  [[nodiscard]] std::uint64_t last_number() const noexcept { return last_number_; }
  /// Whether the first line has the names of columns.
  [[nodiscard]] bool is_table() const noexcept { return file_.is_table(); }
  /// The path of the file, for error texts.
  [[nodiscard]] const std::string& name() const noexcept { return file_.name(); }

private:
  struct indexed_line {
    std::uint64_t hash; ///< of the id
    record_place place;
  };
  explicit gold_file(record_file file, std::string id_field)
      : file_{std::move(file)}, id_field_{std::move(id_field)} {}
  [[nodiscard]] result<json::object> line_of(const std::string& key) const;
  [[nodiscard]] result<void> check_distinct(const std::string& path) const;

  record_file file_;
  std::string id_field_;
  std::vector<indexed_line> rows_; ///< sorted by hash
  bool is_numbered_ = false;
  std::uint64_t last_number_ = 0;
  gold_facts facts_;
};

using gold_file_ptr = std::shared_ptr<const gold_file>;

/// The files with expected answers that several jobs share, so that each file is read once. A file
/// that has changed is read again.
class gold_files {
public:
  /// Returns the file at a path, and reads it if necessary.
  [[nodiscard]] result<gold_file_ptr> open(const score_options& options, const std::string& path,
                                           input_format format);

private:
  struct opened_file {
    std::filesystem::file_time_type changed;
    std::uintmax_t size = 0;
    gold_file_ptr file;
  };
  std::map<std::string, opened_file> files_; ///< by path
};

/// Opens a file with expected answers, from `options.files` if there are any.
[[nodiscard]] result<gold_file_ptr> open_gold(const score_options& options, const std::string& path,
                                              input_format format);

/// Finds expected answers: in a gold file, or in the columns of output lines and then in the input
/// of the job.
class gold_source {
public:
  /// Opens the gold file, if there is one.
  /// @param options must outlive the object
  [[nodiscard]] static result<gold_source> open(const score_options& options);

  /// Returns the expected answer of a row; null if there is none.
  /// @param line the output line of the row
  [[nodiscard]] result<json::value> find(const std::string& key, simdjson::dom::object line);
  /// Facts about the lines that were read, for the error if no row has an expected answer.
  [[nodiscard]] const gold_facts& facts() const noexcept { return facts_; }
  /// Fails if the rows of all calls of find() may have got the expected answers of other rows,
  /// because the lines of the gold file are matched by their numbers; see number_check.
  [[nodiscard]] result<void> check_numbers() const;

private:
  explicit gold_source(const score_options& options);
  [[nodiscard]] result<void> open_file(const std::string& path, input_format format);

  const score_options* options_;
  gold_file_ptr file_; ///< null: only the columns are read so far
  gold_facts facts_;
  number_check numbers_;
};

/// The rows of an output with their expected answers.
class expected_rows {
public:
  /// @param options must outlive the object
  [[nodiscard]] static result<expected_rows> open(const score_options& options);

  /// Reads all rows.
  /// @param see called with each row, its output line and its expected answer, which is null if
  /// there is none. An error that it returns ends the loop
  [[nodiscard]] result<void>
  for_each(const std::function<result<void>(const result_line& row, simdjson::dom::object line,
                                            const json::value& gold)>& see);
  [[nodiscard]] const detail::file& output() const noexcept { return reader_.file(); }
  /// Whether the output ends with an incomplete line. @pre for_each() has succeeded
  [[nodiscard]] bool is_torn() const noexcept { return reader_.is_torn(); }
  /// Returns the error for rows of which none has an expected answer. @pre for_each() has succeeded
  [[nodiscard]] error without_gold() const {
    return gold_.facts().to_error(*options_, options_->output, first_key_);
  }

private:
  expected_rows(const score_options& options, gold_source gold, result_reader reader)
      : options_{&options}, gold_{std::move(gold)}, reader_{std::move(reader)} {}

  const score_options* options_;
  gold_source gold_;
  result_reader reader_;
  std::string first_key_; ///< id of the first row
};

} // namespace superstep::results
