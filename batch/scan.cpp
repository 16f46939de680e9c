// SPDX-License-Identifier: Apache-2.0
// Reads the input of a job twice: once completely before the first row runs, to check all lines,
// and again while rows run, because the rows are not kept in memory.
#include "scan.hpp"

#include "base/digest.hpp"
#include "base/error_words.hpp"
#include "base/utf8.hpp"
#include "element_json.hpp"

#include <cerrno>

#include <sys/stat.h>
#include <unistd.h>

namespace superstep::detail {
namespace {

constexpr auto byte_order_mark = std::string_view{"\xEF\xBB\xBF"};
constexpr auto faults_shown = std::uint64_t{20};

bool is_blank(std::string_view text) noexcept {
  return text.find_first_not_of(" \t\r") == std::string_view::npos;
}

bool is_regular(const file& opened) noexcept {
  struct stat info {};
  return ::fstat(opened.fd(), &info) == 0 && S_ISREG(info.st_mode);
}

result<void> copy(const file& from, file& to) {
  auto block = std::string(std::size_t{256} << 10U, '\0');
  while (true) {
    auto got = ::read(from.fd(), block.data(), block.size());
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return disk_error("read", from.path(), errno);
    if (got == 0)
      return {};
    if (auto kept = to.append(std::string_view{block}.substr(0, static_cast<std::size_t>(got)));
        !kept)
      return kept;
  }
}

/// Returns the error if the first line shows that the whole file is compressed or in another
/// encoding. Without this check, each of its lines would have an error.
std::string find_fault_of_file(const text_line& line) {
  if (line.number != 1)
    return {};
  const auto fault = find_encoding_fault(line.text);
  return fault && fault->is_whole ? fault->text + "; " + fault->advice : std::string{};
}

/// Counts the errors of a file's lines, and keeps the texts of the first 20.
class fault_list {
public:
  void add(std::uint64_t line, std::string_view text) {
    if (++count_ <= faults_shown)
      text_.append("\n  line ").append(std::to_string(line)).append(": ").append(text);
  }
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] error finish(const std::string& path) && {
    if (count_ > faults_shown)
      text_ += "\n  and " + std::to_string(count_ - faults_shown) + " more";
    return {errc::parse_failed, path + " has " + counted(count_, "invalid line") +
                                    "; nothing was run (--on-bad-line dead-letter writes such "
                                    "lines to the dead letters and runs the rest):" +
                                    text_};
  }

private:
  std::uint64_t count_ = 0;
  std::string text_;
};

} // namespace

input_reader::input_reader(const file& from, std::size_t line_bytes_max, bool find_duplicates,
                           std::uint64_t end)
    : from_{from}, lines_{from, line_bytes_max, 0, end}, line_bytes_max_{line_bytes_max},
      find_duplicates_{find_duplicates} {}

result<input_row> input_reader::read(const text_line& line) {
  if (line.is_too_long)
    return error{errc::too_large, "the line has " + std::to_string(line.size) +
                                      " bytes, more than the " + std::to_string(line_bytes_max_) +
                                      " that --max-line-bytes allows; it begins " +
                                      quoted_excerpt(line.text)};
  return parser_.parse(line.text, line.number);
}

result<std::optional<input_item>> input_reader::next() {
  while (true) {
    auto line = lines_.next();
    if (!line)
      return line.error();
    if (!*line)
      return std::optional<input_item>{};
    auto& read_line = **line;
    // Editors on Windows begin UTF-8 files with a byte order mark, which JSON does not allow.
    if (read_line.number == 1 && read_line.text.starts_with(byte_order_mark))
      read_line.text.remove_prefix(byte_order_mark.size());
    if (is_blank(read_line.text))
      continue;
    auto item = input_item{read_line, read(read_line)};
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
    return std::optional<input_item>{std::move(item)};
  }
}

result<input_row> input_reader::reread(std::uint64_t number, std::uint64_t offset,
                                       std::uint64_t size) {
  if (auto read = from_.read_at(offset, size, reread_); !read)
    return read.error();
  auto text = std::string_view{reread_};
  if (number == 1 && text.starts_with(byte_order_mark))
    text.remove_prefix(byte_order_mark.size());
  return parser_.parse(text, number);
}

result<input_facts> scan_input(const file& input, const batch_options& options,
                               const stop_request& stop) {
  auto facts = input_facts{};
  auto faults = fault_list{};
  auto sum = digest{};
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
    ++facts.rows;
    if (auto fault = find_fault_of_file((*item)->line); !fault.empty())
      return error{errc::parse_failed, input.path() + ' ' + fault + "; nothing was run"};
    if (!(*item)->row)
      faults.add((*item)->line.number, (*item)->row.error().text);
  }
  facts.bad_lines = faults.count();
  if (facts.bad_lines > 0 && options.bad_lines == on_bad_line::fail)
    return std::move(faults).finish(input.path());
  facts.digest = sum.finish();
  return facts;
}

result<file> open_rows(const batch_options& options) {
  auto input = file::open_input(options.input);
  if (!input || is_regular(*input))
    return input;
  auto kept = file::open_nameless(options.output);
  if (!kept)
    return kept;
  if (auto copied = copy(*input, *kept); !copied)
    return copied.error();
  return kept;
}

} // namespace superstep::detail
