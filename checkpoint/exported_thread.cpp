// SPDX-License-Identifier: Apache-2.0
// Writes, reads and truncates exported threads, and converts the values of another program to an
// exported thread. Each checkpointer has its own code to import the result.
#include "exported_thread.hpp"

#include "base/utf8.hpp"
#include "checkpoint/thread_import.hpp"
#include "row_bytes.hpp"
#include "untyped.hpp"

#include <superstep/base/stored_form.hpp>
#include <superstep/checkpoint/sqlite.hpp>

#include <algorithm>
#include <set>

namespace superstep::detail {

namespace {

/// The format version in the first line of an export. Later versions of this code must still read
/// earlier formats.
constexpr auto format_version = std::int64_t{1};

/// Returns the error for a text that is not a valid exported thread.
checkpoint_error unreadable(std::string_view why) {
  return {make_error_code(checkpoint_errc::corrupt),
          "not a complete export of a thread: " + std::string{why} + "; nothing was imported"};
}

/// Returns the error for an invalid line. Lines are counted from 1.
checkpoint_error unreadable(std::size_t line, std::string_view why) {
  return unreadable("line " + std::to_string(line) + ": " + std::string{why});
}

void append_member(std::string& out, std::string_view key, std::string_view text) {
  out += ",\"";
  out += key;
  out += "\":";
  append_quoted(out, text);
}

/// Appends the line of one checkpoint. Its row and the rows of its tasks are JSON already, so they
/// are inserted without changes.
void append_checkpoint(std::string& out, const exported_checkpoint& p) {
  out += "{\"ns\":";
  append_quoted(out, p.ns);
  append_member(out, "id", p.header.id);
  append_member(out, "parent", p.header.parent);
  append_member(out, "base", p.base);
  append_member(out, "source", to_text(p.header.source));
  out += ",\"step\":" + std::to_string(p.header.step) + ",\"layout\":" + std::to_string(p.layout) +
         ",\"row\":" + p.row + ",\"tasks\":[";
  for (auto i = std::size_t{0}; i < p.tasks.size(); ++i)
    out += (i == 0 ? "[" : ",[") + std::to_string(p.tasks[i].layout) + ',' + p.tasks[i].row + ']';
  out += "]}\n";
}

/// Parses a line of any size: it may have a row and many task records, which are checked later.
json::value parse_line(std::string_view text, std::size_t number) {
  auto parsed = parse_json(text, {text.size(), read_depth_max});
  if (!parsed)
    throw unreadable(number, parsed.error().text);
  return std::move(*parsed);
}

/// Returns the error for a member that is missing or has another type than `type`.
checkpoint_error wrong_member(const char* key, const json::value* found, const char* type,
                              std::size_t number) {
  return unreadable(
      number, std::string{"the member '"} + key +
                  (found == nullptr ? "' is missing; it must be of type " : "' must be of type ") +
                  type);
}

std::string text_in(const json::object& line, const char* key, std::size_t number) {
  const auto* found = line.if_contains(key);
  if (found == nullptr || !found->is_string())
    throw wrong_member(key, found, "text", number);
  return std::string{found->get_string()};
}

std::int64_t number_in(const json::object& line, const char* key, std::size_t number) {
  const auto* found = line.if_contains(key);
  if (found == nullptr || !found->is_int64())
    throw wrong_member(key, found, "integer", number);
  return found->get_int64();
}

checkpoint_source source_in(const json::object& line, std::size_t number) {
  const auto text = text_in(line, "source", number);
  for (const auto s : {checkpoint_source::input, checkpoint_source::loop, checkpoint_source::update,
                       checkpoint_source::fork})
    if (to_text(s) == text)
      return s;
  throw unreadable(number, "the source '" + text + "' is unknown");
}

/// Reads the line of one checkpoint and checks the types of its members. check_order() checks the
/// references between lines.
exported_checkpoint read_checkpoint(const json::object& line, std::size_t number) {
  auto out = exported_checkpoint{};
  out.ns = text_in(line, "ns", number);
  out.header = {text_in(line, "id", number), text_in(line, "parent", number),
                source_in(line, number), number_in(line, "step", number)};
  out.base = text_in(line, "base", number);
  out.layout = static_cast<std::size_t>(number_in(line, "layout", number));
  const auto* row = line.if_contains("row");
  const auto* tasks = line.if_contains("tasks");
  if (out.header.id.empty() || row == nullptr || !row->is_object() || tasks == nullptr ||
      !tasks->is_array())
    throw unreadable(number, "the checkpoint has no id, row or tasks");
  const auto row_text = [&](const json::value& of) {
    auto text = to_text(of);
    if (text.size() > row_bytes_max)
      throw unreadable(number, "a row is larger than 512 MiB");
    return text;
  };
  out.row = row_text(*row);
  for (const auto& t : tasks->get_array()) {
    if (!t.is_array() || t.get_array().size() != 2 || !t.get_array()[0].is_int64())
      throw unreadable(number, "a task is not a list of a layout number and a record");
    out.tasks.push_back(
        {static_cast<std::size_t>(t.get_array()[0].get_int64()), row_text(t.get_array()[1])});
  }
  return out;
}

/// Fails if the first line is not the header of an export. This is checked first: the advice for an
/// incomplete export would mislead a user who specified another file.
void check_header(std::string_view line) {
  const auto parsed = parse_json(line, {row_bytes_max, read_depth_max});
  if (!parsed || !parsed->is_object() || !parsed->get_object().contains("superstep_thread"))
    throw checkpoint_error{make_error_code(checkpoint_errc::corrupt),
                           "not an exported thread: its first line must contain the member "
                           "'superstep_thread'; use the output of an export; nothing was imported"};
}

/// Splits an export into lines and verifies the checksum in its last line. Returns the other lines.
std::vector<std::string_view> checked_lines(std::string_view text) {
  if (text.empty())
    throw unreadable("the text is empty");
  check_header(text.substr(0, text.find('\n')));
  auto lines = std::vector<std::string_view>{};
  for (auto from = std::size_t{0}; from < text.size();) {
    const auto to = text.find('\n', from);
    if (to == std::string_view::npos)
      throw unreadable(
          "the last line has no line break, so the text is incomplete; use the complete "
          "output of an export");
    lines.push_back(text.substr(from, to - from));
    from = to + 1;
  }
  if (lines.size() < 2)
    throw unreadable("it has only one line; use the complete output of an export");
  const auto last = parse_line(lines.back(), lines.size());
  const auto body = text.substr(0, static_cast<std::size_t>(lines.back().data() - text.data()));
  lines.pop_back();
  if (!last.is_object() || !last.get_object().contains("sum"))
    throw unreadable(
        "the last line must contain the checksum; use the complete output of an export");
  if (number_in(last.get_object(), "sum", lines.size() + 1) !=
      static_cast<std::int64_t>(checksum_of({body})))
    throw unreadable("the checksum does not match, so the text was changed; export the thread "
                     "again");
  return lines;
}

/// Checks that all layouts exist, that bases precede their dependents, and that ids are unique.
void check_order(const exported_thread& thread) {
  auto seen = std::set<std::pair<std::string_view, std::string_view>>{};
  for (const auto& p : thread.points) {
    const auto has_layout = [&](const auto& x) { return x.layout < thread.layouts.size(); };
    if (!has_layout(p) || !std::ranges::all_of(p.tasks, has_layout))
      throw unreadable("checkpoint " + p.header.id +
                       " refers to a layout that the export does not have");
    if (!p.base.empty() && !seen.contains({p.ns, p.base}))
      throw unreadable("the base of checkpoint " + p.header.id + " does not come before it");
    if (!seen.emplace(p.ns, p.header.id).second)
      throw unreadable("checkpoint " + p.header.id + " occurs twice");
  }
}

} // namespace

json::value parse_row(std::string_view text) {
  auto parsed = parse_json(text, {row_bytes_max, read_depth_max});
  if (!parsed)
    throw checkpoint_error{make_error_code(checkpoint_errc::corrupt),
                           "a row is not valid JSON: " + parsed.error().text};
  return std::move(*parsed);
}

std::string write_thread(std::string_view thread_id, const exported_thread& thread) {
  auto out = "{\"superstep_thread\":" + std::to_string(format_version);
  append_member(out, "thread", valid_utf8(std::string{thread_id}));
  out += "}\n";
  for (const auto& layout : thread.layouts)
    out += "{\"layout\":" + layout + "}\n";
  for (const auto& p : thread.points)
    append_checkpoint(out, p);
  out += "{\"sum\":" + std::to_string(checksum_of({out})) + "}\n";
  return out;
}

exported_thread read_thread(std::string_view text) {
  const auto lines = checked_lines(text);
  const auto first = parse_line(lines.front(), 1);
  if (const auto version = number_in(first.get_object(), "superstep_thread", 1);
      version > format_version)
    throw checkpoint_error{make_error_code(checkpoint_errc::newer_format),
                           "an exported thread has format " + std::to_string(version) +
                               ", but this version of superstep reads formats up to " +
                               std::to_string(format_version) +
                               ": use a newer version; nothing was imported"};
  auto out = exported_thread{};
  for (auto i = std::size_t{1}; i < lines.size(); ++i) {
    const auto line = parse_line(lines[i], i + 1);
    if (!line.is_object())
      throw unreadable(i + 1, "must be an object");
    const auto& members = line.get_object();
    if (const auto* layout = members.if_contains("layout");
        layout != nullptr && layout->is_object()) {
      out.layouts.push_back(to_text(*layout));
      (void)read_layout(out.layouts.back()); // throws if it is damaged
    } else {
      out.points.push_back(read_checkpoint(members, i + 1));
    }
  }
  check_order(out);
  return out;
}

} // namespace superstep::detail

namespace superstep {

std::string thread_of_values(const json::object& values, std::int64_t step) {
  auto channels = json::array{};
  auto held = json::object{};
  for (const auto& [name, v] : values) {
    channels.push_back(json::array{name, detail::untyped});
    held[name] = json::array{v};
  }
  // The thread has a layout without nodes, whose channels have the type `untyped`, and one
  // checkpoint without a next step.
  auto thread = detail::exported_thread{};
  thread.layouts.push_back(to_text(json::object{
      {"graph", ""}, {"channels", channels}, {"nodes", json::array{}}, {"joins", json::array{}}}));
  auto& point = thread.points.emplace_back();
  point.header = {"00000001", {}, checkpoint_source::update, step};
  point.row = to_text(json::object{{"c", std::move(held)}, {"v", json::array{1, 0, 0}}});
  return detail::write_thread("", thread);
}

std::string cut_thread(std::string_view exported, std::string_view at) {
  auto thread = detail::read_thread(exported);
  if (at.empty())
    return std::string{exported};
  auto last = std::ranges::find_if(thread.points, [&](const detail::exported_checkpoint& p) {
    return p.ns.empty() && p.header.id == at;
  });
  if (last == thread.points.end())
    throw checkpoint_error{make_error_code(checkpoint_errc::failed),
                           "the thread has no checkpoint '" + std::string{at} +
                               "'; specify the id of one of its checkpoints"};
  last->tasks.clear(); // these records are later than the checkpoint, so its tasks run again
  // The id of a subgraph's checkpoint starts with the id of the parent's checkpoint during which it
  // ran. So it compares as greater than the parent's id, and equal or greater ids are later.
  std::erase_if(thread.points, [&](const detail::exported_checkpoint& p) {
    return p.ns.empty() ? p.header.id > at : p.header.id >= at;
  });
  return detail::write_thread("", thread);
}

} // namespace superstep
