// SPDX-License-Identifier: Apache-2.0
// Prevents that rows are scored with the expected answers of their neighbours.
#include "results/number_check.hpp"

#include "batch/file.hpp"
#include "batch/journal.hpp"
#include "results/gold.hpp"
#include "results/job_file.hpp"

#include <algorithm>
#include <charconv>

#include <fcntl.h>

namespace superstep::results {

std::string_view repeated_row_of(std::string_view key) noexcept {
  const auto mark = key.rfind('#');
  if (mark == key.npos || mark + 1 == key.size() ||
      key.find_first_not_of("0123456789", mark + 1) != key.npos)
    return {};
  return key.substr(0, mark);
}

std::optional<bool> is_input_table(const std::string& output) {
  const auto opened = detail::file::open_regular(job_file_of(output, ".journal"), O_RDONLY);
  const auto content = opened ? detail::read_journal(*opened) : opened.error();
  if (!content || !content->header)
    return std::nullopt;
  return !content->header->format.empty();
}

void number_check::add(std::string_view key) noexcept {
  if (const auto row = repeated_row_of(key); !row.empty())
    key = row;
  auto number = std::uint64_t{0};
  const auto* const end = key.data() + key.size();
  const auto [rest, failed] = std::from_chars(key.data(), end, number);
  if (failed != std::errc{} || rest != end)
    return;
  has_first_ = has_first_ || number == 1;
  last_ = std::max(last_, number);
}

result<void> number_check::check(const gold_file& gold, bool is_proof_needed) const {
  if (!gold.is_numbered() || last_ == 0)
    return {};
  auto is_table = is_table_;
  if (!is_table && has_first_)
    is_table = false;
  if (!is_table && gold.is_table() && last_ == gold.last_number())
    is_table = true;
  if (is_table ? *is_table == gold.is_table() : !is_proof_needed)
    return {};
  auto text = gold.name() + ": its lines have no ids, so that their numbers are their ids, but ";
  text += is_table ? "it and the input of the job have other numbers: the rows of a CSV or TSV "
                     "file begin with line 2, those of a JSONL file with line 1"
                   : "it is not known whether the rows have the same numbers, because there is no "
                     "journal beside the output: the rows of a CSV or TSV file begin with line 2, "
                     "those of a JSONL file with line 1";
  return error{errc::invalid_argument, text + "; add a column id to both files"};
}

} // namespace superstep::results
