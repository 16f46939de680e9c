// SPDX-License-Identifier: Apache-2.0
// Reads the input of a job twice: once completely before the first row runs, to check all lines,
// and again while rows run, because the rows are not kept in memory.
#include "scan.hpp"

#include "base/digest.hpp"
#include "base/error_words.hpp"
#include "base/utf8.hpp"
#include "element_json.hpp"

#include <algorithm>

namespace superstep::detail {
namespace {

constexpr auto faults_shown = std::uint64_t{20};

/// Counts the errors of a file's lines, and keeps the texts of the first 20. Lines with a wrong
/// encoding are one of them, because they have the same cause.
class fault_list {
public:
  void add(const text_line& line, const std::string& text) {
    const auto is_wrongly_encoded = !line.is_too_long && !is_utf8(line.text);
    if (is_wrongly_encoded && ++wrongly_encoded_ > 1)
      return;
    if (++listed_ > faults_shown)
      return;
    text_ += "\n  line " + std::to_string(line.number) + ": " + text;
    if (is_wrongly_encoded)
      encoding_end_ = text_.size();
  }
  [[nodiscard]] std::uint64_t count() const noexcept { return listed_ + further_wrongly_encoded(); }
  [[nodiscard]] error finish(const std::string& path, std::string_view consequence) && {
    if (const auto further = further_wrongly_encoded(); further > 0 && encoding_end_ > 0)
      text_.insert(encoding_end_, "\n    " + counted(further, "further line") +
                                      (further == 1 ? " is" : " are") + " not UTF-8 either");
    const auto shown = std::min(listed_, faults_shown);
    const auto hidden = listed_ - shown + (encoding_end_ == 0 ? further_wrongly_encoded() : 0);
    if (hidden > 0)
      text_ += "\n  and " + std::to_string(hidden) + " more";
    return {errc::parse_failed, path + " has " + counted(count(), "invalid line") + "; " +
                                    std::string{consequence} + ':' + text_};
  }

private:
  [[nodiscard]] std::uint64_t further_wrongly_encoded() const noexcept {
    return wrongly_encoded_ > 1 ? wrongly_encoded_ - 1 : 0;
  }

  std::uint64_t listed_ = 0;          ///< errors without further_wrongly_encoded()
  std::uint64_t wrongly_encoded_ = 0; ///< lines that are not UTF-8
  std::size_t encoding_end_ = 0;      ///< end of the text about the first of them; 0: not listed
  std::string text_;
};

/// Returns the error of a record with an open quote (text_line::open_quote).
std::string open_quote_text(const text_line& record) {
  return "a field begins with a quote on line " + std::to_string(record.open_quote) +
         " that is not closed, so all lines that follow belong to this field; close the quote, or "
         "quote the field and write \"\" for each quote in it";
}

} // namespace

input_reader::input_reader(const input_file& from, std::size_t line_bytes_max, bool find_duplicates,
                           std::uint64_t end)
    : from_{from}, lines_{from.bytes, line_bytes_max, from.rows(end)}, parser_{from.format},
      line_bytes_max_{line_bytes_max}, find_duplicates_{find_duplicates} {}

key_digest selection_digest(const input_item& item) {
  return item.row ? digest_of(item.row->request.key)
                  : digest_of("line " + std::to_string(item.line.number));
}

result<input_row> input_reader::read(const text_line& line) {
  if (line.is_too_long)
    return error{errc::too_large, "the line has " + std::to_string(line.size) +
                                      " bytes, more than the " + std::to_string(line_bytes_max_) +
                                      " that --max-line-bytes allows; it begins " +
                                      quoted_excerpt(line.text)};
  return parser_.parse(line.text, line.number);
}

result<std::optional<input_item>> input_reader::next() {
  auto out = result<std::optional<input_item>>{};
  while (true) {
    auto line = lines_.next();
    if (!line)
      out = line.error();
    if (!line || !*line)
      return out;
    auto& read_line = **line;
    if (read_line.offset == 0)
      read_line.text = without_byte_order_mark(read_line.text);
    if (from_.is_blank(read_line.text))
      continue;
    auto& item = out->emplace(read_line, read(read_line));
    if (find_duplicates_ && item.row) {
      auto [first, is_new] =
          first_lines_.try_emplace(digest_of(item.row->request.key), read_line.number);
      if (!is_new) {
        item.is_duplicate = true;
        item.row = error{errc::parse_failed, "the row id " + quoted_excerpt(item.row->request.key) +
                                                 " is already used on line " +
                                                 std::to_string(first->second) +
                                                 "; give each row its own id"};
      }
    }
    return out;
  }
}

result<input_row> input_reader::reread(std::uint64_t number, std::uint64_t offset,
                                       std::uint64_t size) {
  if (auto read = from_.bytes.read_at(offset, size, reread_); !read)
    return read.error();
  return parser_.parse(offset == 0 ? without_byte_order_mark(reread_) : reread_, number);
}

result<void> expect_unchanged(const input_file& input, const input_facts& facts) {
  const auto now = input.bytes.version();
  if (!now)
    return now.error();
  if (*now == facts.version)
    return {};
  return error{errc::invalid_argument,
               input.name + " was changed while it was used; what is done is kept. Restore the "
                            "input and run the same command again to continue"};
}

result<input_facts> scan_input(const input_file& input, const batch_options& options,
                               const stop_request& stop, std::string_view consequence) {
  auto facts = input_facts{options};
  const auto version = input.bytes.version();
  if (!version)
    return version.error();
  facts.version = *version;
  auto faults = fault_list{};
  auto sum = digest{};
  sum.add(input.header);
  facts.bytes = input.header.size();
  // Duplicate keys are always searched here, so that every error is found before a row runs.
  auto reader = input_reader{input, options.line_bytes_max, true};
  reader.lines().on_block([&](std::string_view block) {
    sum.add(block);
    facts.bytes += block.size();
  });
  while (true) {
    if (stop.current() != stop_request::none)
      return error{errc::cancelled, "stopped while the input was being checked"};
    auto item = reader.next();
    if (!item)
      return item.error();
    if (!*item)
      break;
    const auto& line = (*item)->line;
    if (line.number == 1)
      if (auto fault = find_fault_of_file(line.text); !fault.empty())
        return error{errc::parse_failed, input.name + ' ' + fault + "; nothing was run"};
    // This is not one invalid line: a dead letter would hide all rows that follow.
    if (line.open_quote > 0 && options.bad_lines == on_bad_line::dead_letter)
      return error{errc::parse_failed,
                   input.name + ": " + open_quote_text(line) + "; nothing was run"};
    facts.selection.see(selection_digest(**item), !(*item)->row);
    if (!(*item)->row)
      faults.add(line, line.open_quote > 0 ? open_quote_text(line) : (*item)->row.error().text);
  }
  facts.rows = facts.selection.finish();
  if (faults.count() > 0 && options.bad_lines == on_bad_line::fail)
    return std::move(faults).finish(input.name, consequence);
  facts.columns = reader.columns();
  facts.digest = sum.finish();
  if (input.format.columns) {
    const auto separator = input.format.columns->separator();
    facts.format = separator == '\t' ? "tsv" : "csv";
    if (separator != ',' && separator != '\t')
      facts.format += std::string{" with the delimiter "} + separator;
  }
  return facts;
}

} // namespace superstep::detail
