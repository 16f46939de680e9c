// SPDX-License-Identifier: Apache-2.0
// Reads and writes the records of a job's journal. journal.hpp describes the format.
#include "journal.hpp"

#include "base/hex.hpp"
#include "json_text.hpp"
#include "line_reader.hpp"

#include <superstep/base/detail/assert.hpp>

#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <new>
#include <utility>

#include <zlib.h>

namespace superstep::detail {
namespace {

namespace dom = simdjson::dom;

constexpr auto format_version = std::int64_t{1};
constexpr auto checksum_digits = std::size_t{8};
// Larger than any record: a key has at most 1 KiB, and JSON escapes turn one byte into at most six.
constexpr auto record_bytes_max = std::size_t{64} << 10U;

struct header_member {
  std::string_view name;
  std::string job_header::*text;
};
constexpr header_member header_members[] = {
    {"job_id", &job_header::job_id},
    {"agent", &job_header::agent},
    {"tools", &job_header::tools},
    {"model", &job_header::model},
    {"parameters", &job_header::parameters},
    {"input", &job_header::input},
    {"input_format", &job_header::format},
    {"id_field", &job_header::id_field},
    {"shard", &job_header::shard},
    {"sample", &job_header::sample},
    {"repeat", &job_header::repeat},
    {"layout", &job_header::layout},
    {"keys", &job_header::keys},
};

std::uint32_t checksum(std::string_view bytes) noexcept {
  auto data = reinterpret_cast<const Bytef*>(bytes.data());
  return static_cast<std::uint32_t>(::crc32(0, data, static_cast<uInt>(bytes.size())));
}

/// Writes one record. The constructor writes the beginning, add() the fields, and the destructor
/// the end and the checksum.
class record {
public:
  record(std::string& out, std::string_view kind) : out_{out}, at_{out.size()} {
    out_.append(checksum_digits, '0');
    out_ += " [\"";
    out_ += kind;
    out_ += '"';
  }
  record(const record&) = delete;
  record& operator=(const record&) = delete;
  ~record() {
    out_ += ']';
    auto sum = checksum(std::string_view{out_}.substr(at_ + checksum_digits + 1));
    for (auto digit = checksum_digits; digit-- > 0; sum >>= 4U)
      out_[at_ + digit] = hex_digits[sum & 15U];
    out_ += '\n';
  }

  template <std::integral Number>
  void add(Number number) {
    out_ += ',';
    append_number(out_, number);
  }
  void add(std::string_view text) {
    out_ += ',';
    append_quoted(out_, text);
  }
  void add(const row_counts& counts) {
    out_ += ",[";
    append_number(out_, counts.steps);
    add(counts.model_calls);
    add(counts.tool_calls);
    add(counts.input_tokens);
    add(counts.output_tokens);
    add(counts.total_tokens);
    add(counts.failed_tool_calls);
    if (counts.rows_unpriced == 0)
      add(counts.cost);
    else
      out_ += ",null";
    if (counts.cached_answers > 0)
      add(counts.cached_answers);
    out_ += ']';
  }

private:
  std::string& out_;
  std::size_t at_;
};

/// Returns the JSON text of a line with a correct checksum; empty for other lines.
std::string_view checked(std::string_view line) noexcept {
  if (line.size() < checksum_digits + 2 || line[checksum_digits] != ' ')
    return {};
  auto sum = std::uint32_t{0};
  auto end = line.data() + checksum_digits;
  if (auto [at, failed] = std::from_chars(line.data(), end, sum, 16);
      failed != std::errc{} || at != end)
    return {};
  auto text = line.substr(checksum_digits + 1);
  return checksum(text) == sum ? text : std::string_view{};
}

// The checksum is correct, so the text is what some version of superstep wrote. A missing field
// means that an earlier version did not write it; it is read as zero or empty.
std::uint64_t number_at(dom::array fields, std::size_t i) noexcept {
  auto value = std::uint64_t{0};
  return fields.at(i).get(value) == simdjson::SUCCESS ? value : 0;
}

std::int64_t signed_at(dom::array fields, std::size_t i) noexcept {
  auto value = std::int64_t{0};
  return fields.at(i).get(value) == simdjson::SUCCESS ? value : 0;
}

std::string_view text_at(dom::array fields, std::size_t i) noexcept {
  auto value = std::string_view{};
  return fields.at(i).get(value) == simdjson::SUCCESS ? value : std::string_view{};
}

row_counts counts_at(dom::array fields, std::size_t i) noexcept {
  auto list = dom::array{};
  auto counts = row_counts{};
  if (fields.at(i).get(list) != simdjson::SUCCESS)
    return counts;
  counts.steps = number_at(list, 0);
  counts.model_calls = number_at(list, 1);
  counts.tool_calls = number_at(list, 2);
  counts.input_tokens = signed_at(list, 3);
  counts.output_tokens = signed_at(list, 4);
  counts.total_tokens = signed_at(list, 5);
  counts.failed_tool_calls = number_at(list, 6);
  if (list.at(7).get(counts.cost) != simdjson::SUCCESS)
    counts.rows_unpriced = 1;
  counts.cached_answers = number_at(list, 8);
  return counts;
}

result<job_header> read_header(dom::array fields, const std::string& path) {
  auto object = dom::object{};
  auto format = std::int64_t{0};
  if (fields.at(1).get(object) != simdjson::SUCCESS ||
      object.at_key("format").get(format) != simdjson::SUCCESS || format != format_version)
    return error{errc::parse_failed, path + " was written by another version of superstep; finish "
                                            "the job with that version or use --fresh to start "
                                            "again"};
  auto header = job_header{};
  [[maybe_unused]] auto has_time = object.at_key("created").get(header.created);
  for (const auto& member : header_members) {
    auto text = std::string_view{};
    if (object.at_key(member.name).get(text) == simdjson::SUCCESS)
      header.*member.text = text;
  }
  // Earlier versions named the member `run_id`.
  if (auto text = std::string_view{};
      header.job_id.empty() && object.at_key("run_id").get(text) == simdjson::SUCCESS)
    header.job_id = text;
  return header;
}

/// Applies one record. Records of unknown kinds are ignored.
result<void> apply(dom::array fields, const std::string& path, journal_content& into) {
  const auto kind = text_at(fields, 0);
  if (kind == "job") {
    auto header = read_header(fields, path);
    if (!header)
      return header.error();
    into.set_header(std::move(*header));
  } else if (kind == "start") {
    ++into.starts[digest_of(text_at(fields, 1))];
  } else if (kind == "ok" || kind == "dead") {
    const auto is_dead = kind == "dead";
    into.mark_done(digest_of(text_at(fields, 1)), is_dead);
    into.output_end = number_at(fields, 2);
    if (is_dead)
      into.dead_end = number_at(fields, 3);
    ++(is_dead ? into.dead : into.ok);
    into.add(counts_at(fields, is_dead ? 4 : 3));
  } else if (kind == "bad") {
    into.bad_lines.insert(number_at(fields, 1));
    into.dead_end = number_at(fields, 2);
  } else if (kind == "spent") {
    const auto counts = counts_at(fields, 1);
    into.counts += counts;
    into.unlisted += counts;
  } else if (kind == "view") {
    auto next = view_record{number_at(fields, 1), number_at(fields, 2),
                            std::string{text_at(fields, 3)}, number_at(fields, 2)};
    if (into.view && into.view->inode == next.inode)
      next.size_before = into.view->size;
    into.view = std::move(next);
  } else if (kind == "rebuild") {
    into.begin_rebuild();
  } else if (kind == "rebuilt") {
    into.output_end = number_at(fields, 1);
    into.dead_end = number_at(fields, 2);
    if (into.needs_rebuild) // otherwise the record of its begin is damaged
      into.end_rebuild();
  }
  return {};
}

/// Calls `see` with a pointer to each member of row_counts.
template <class See>
void for_each_count(See see) {
  see(&row_counts::steps);
  see(&row_counts::model_calls);
  see(&row_counts::tool_calls);
  see(&row_counts::input_tokens);
  see(&row_counts::output_tokens);
  see(&row_counts::total_tokens);
  see(&row_counts::failed_tool_calls);
  see(&row_counts::cost);
  see(&row_counts::rows_unpriced);
  see(&row_counts::cached_answers);
}

} // namespace

row_counts& row_counts::operator+=(const row_counts& more) noexcept {
  for_each_count([&](auto member) { this->*member += more.*member; });
  return *this;
}

void row_counts::raise_to(const row_counts& bound) noexcept {
  for_each_count([&](auto member) { this->*member = std::max(this->*member, bound.*member); });
}

row_counts excess(const row_counts& counts, const row_counts& part) noexcept {
  auto more = row_counts{};
  for_each_count([&](auto member) {
    if (counts.*member > part.*member)
      more.*member = counts.*member - part.*member;
  });
  return more;
}

void journal_content::set_header(job_header next) {
  // An earlier input had other lines, and another field for ids makes other lines invalid.
  if (header && (header->input != next.input || header->format != next.format ||
                 header->id_field != next.id_field))
    bad_lines.clear();
  if (header && !header->has_same_rows(next))
    has_other_input = true;
  header = std::move(next);
}

void journal_content::mark_done(key_digest key, bool has_failed) {
  done.insert(key);
  if (has_failed)
    failed.insert(key);
  else
    starts.erase(key);
}

void journal_content::add(const row_counts& of_row) noexcept {
  counts += of_row;
  rows_with_failed_calls += of_row.failed_tool_calls > 0 ? 1U : 0U;
}

void journal_content::begin_rebuild() {
  if (!std::exchange(needs_rebuild, true))
    before_rebuild_ = counts;
  done.clear();
  failed.clear();
  bad_lines.clear();
  ok = dead = output_end = dead_end = rows_with_failed_calls = damaged_lines = 0;
  counts = {};
}

void journal_content::end_rebuild() {
  SUPERSTEP_ASSERT(needs_rebuild);
  // A damaged journal does not have the counts of all rows that the output has. What was counted in
  // `unlisted` before is still known then.
  auto missing = excess(before_rebuild_, counts);
  missing.rows_unpriced = 0; // a number of rows in the output
  unlisted.raise_to(missing);
  counts += unlisted;
  needs_rebuild = false;
}

result<journal_content> read_journal(const file& journal) {
  auto content = journal_content{};
  auto reader = line_reader{journal, record_bytes_max};
  auto parser = dom::parser{};
  auto bad = std::uint64_t{0}; // damaged lines since the last valid record
  while (true) {
    auto line = reader.next();
    if (!line)
      return line.error();
    if (!*line || !(*line)->is_complete)
      return content;
    auto text = (*line)->is_too_long ? std::string_view{} : checked((*line)->text);
    auto fields = dom::array{};
    const auto failed =
        text.empty() ? simdjson::EMPTY : parser.parse(text.data(), text.size()).get(fields);
    if (failed == simdjson::MEMALLOC)
      throw std::bad_alloc{}; // the record may be valid
    if (failed != simdjson::SUCCESS) {
      ++bad;
      continue;
    }
    // Invalid lines at the end of the file are the result of a crash. Invalid lines before a valid
    // record are damage.
    if (bad > 0) {
      if (content.damaged_lines == 0)
        content.first_damaged_line = (*line)->number - bad;
      content.damaged_lines += std::exchange(bad, 0);
    }
    if (auto applied = apply(fields, journal.path(), content); !applied)
      return applied.error();
    content.has_records = true;
    content.valid_bytes = (*line)->offset + (*line)->size + 1;
  }
}

void append_job(std::string& out, const job_header& header) {
  auto line = record{out, "job"};
  out += ",{\"format\":";
  append_number(out, format_version);
  append_member(out, "created");
  append_number(out, header.created);
  for (const auto& member : header_members) {
    append_member(out, member.name);
    append_quoted(out, header.*member.text);
  }
  out += '}';
}

void append_start(std::string& out, std::string_view key) {
  auto line = record{out, "start"};
  line.add(key);
}

void append_ok(std::string& out, std::string_view key, std::uint64_t output_end,
               const row_counts& counts) {
  auto line = record{out, "ok"};
  line.add(key);
  line.add(output_end);
  line.add(counts);
}

void append_dead(std::string& out, std::string_view key, std::uint64_t output_end,
                 std::uint64_t dead_end, const row_counts& counts) {
  auto line = record{out, "dead"};
  line.add(key);
  line.add(output_end);
  line.add(dead_end);
  line.add(counts);
}

void append_bad(std::string& out, std::uint64_t line_number, std::uint64_t dead_end) {
  auto line = record{out, "bad"};
  line.add(line_number);
  line.add(dead_end);
}

void append_spent(std::string& out, const row_counts& counts) {
  auto line = record{out, "spent"};
  line.add(counts);
}

void append_view(std::string& out, std::uint64_t inode, std::uint64_t size, std::string_view form) {
  auto line = record{out, "view"};
  line.add(inode);
  line.add(size);
  line.add(form);
}

void append_rebuild(std::string& out) {
  auto line = record{out, "rebuild"};
}

void append_rebuilt(std::string& out, std::uint64_t output_end, std::uint64_t dead_end) {
  auto line = record{out, "rebuilt"};
  line.add(output_end);
  line.add(dead_end);
}

} // namespace superstep::detail
