// SPDX-License-Identifier: Apache-2.0
#include "protocols/yaml_xml_body.hpp"

#include "protocols/coerce_schema.hpp"
#include "protocols/coerce_text.hpp"
#include "protocols/string_progress.hpp"
#include "protocols/yaml_reader.hpp"

#include <superstep/protocols/coerce.hpp>

#include <algorithm>
#include <utility>

namespace superstep::yaml_xml {

namespace {

// Bytes read again for the sake of what is shown early; then the rest waits for the end.
constexpr auto reread_bytes_max = std::size_t{256} * 1024;

// How far back a settled line is looked for.
constexpr auto walk_back_max = std::size_t{4096};

template <class Visit>
void for_each_line(std::string_view text, const Visit& visit) {
  for (auto from = std::size_t{0}; from < text.size();) {
    const auto end = std::min(text.find('\n', from), text.size());
    visit(text.substr(from, end - from), end < text.size());
    from = end + 1;
  }
}

std::size_t indent_of(std::string_view line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

/// The text without the line end before it and without the indentation that all lines share.
std::string dedented(std::string_view text) {
  if (text.starts_with("\r\n"))
    text.remove_prefix(2);
  else if (text.starts_with('\n'))
    text.remove_prefix(1);
  auto common = text.size();
  for_each_line(text, [&](std::string_view line, bool) {
    if (const auto indent = indent_of(line); indent < common && !text::is_blank(line))
      common = indent;
  });
  auto out = std::string{};
  out.reserve(text.size());
  for_each_line(text, [&](std::string_view line, bool has_end) {
    out += line.substr(std::min(common, indent_of(line)));
    if (has_end)
      out += '\n';
  });
  return out;
}

bool says_nothing(std::string_view text) {
  auto nothing = true;
  for_each_line(text, [&](std::string_view line, bool) {
    const auto content = text::trim_start(line);
    nothing = nothing && (content.empty() || content.starts_with('#'));
  });
  return nothing;
}

/// Up to where a body that grows says what it will say in the end; 0: nowhere.
///
/// A last line with its end is settled unless it is a key or a dash whose value is to come. One
/// without is only when it closes something: more of a plain text may follow.
///
/// @param walked grows by the bytes that were looked at
std::size_t settled_part(std::string_view body, std::size_t& walked) {
  auto has_end = body.ends_with('\n');
  auto end = body.size() - (has_end ? 1 : 0);
  const auto least = body.size() - std::min(body.size(), walk_back_max);
  while (end > least) {
    const auto begin = body.substr(0, end).rfind('\n') + 1; // npos + 1 is 0
    const auto line = text::trim(body.substr(begin, end - begin));
    walked += end - begin + 1;
    const auto waits = line.empty() || line.ends_with(':') || line == "-" || line.ends_with(" -");
    const auto closes =
        line.ends_with('"') || line.ends_with('\'') || line.ends_with('}') || line.ends_with(']');
    if (!waits && (has_end || closes))
      return end + (has_end ? 1 : 0);
    end = begin == 0 ? 0 : begin - 1;
    has_end = false;
  }
  return 0;
}

/// The text at the very end; null: something else stands there.
json::string* last_text(json::value& v) {
  auto* last = &v;
  while (last->is_structured()) {
    auto* list = last->if_array();
    auto* members = last->if_object();
    if (list != nullptr ? list->empty() : members->empty())
      return nullptr;
    last = list != nullptr ? &list->back() : &(members->end() - 1)->value();
  }
  return last->if_string();
}

class progress final : public body_progress {
public:
  progress(const call_body& reader, const protocol_tool& tool, stream_output& output)
      : reader_{reader}, tool_{tool}, output_{output} {}

  void advance(std::string_view body) override {
    // Only a line end or a closing mark can have settled anything new.
    const auto fresh = body.substr(seen_);
    seen_ = body.size();
    if (fresh.find_first_of("\n\"'}]") == fresh.npos || reread_ > reread_bytes_max ||
        !output_.progress().may_show())
      return;
    const auto end = settled_part(body, reread_);
    if (end <= shown_)
      return;
    shown_ = end;
    reread_ += end;
    auto value = reader_.read(body.substr(0, end), tool_);
    last_.reset();
    if (!value || !lists_are_lists(*value, tool_.schema))
      return;
    // The line ends at the end of a block depend on what follows.
    auto* text = last_text(*value);
    const auto size = text != nullptr ? text->size() : 0;
    if (text != nullptr)
      text->resize(std::string_view{*text}.find_last_not_of('\n') + 1);
    output_.progress().show(*value);
    if (text != nullptr)
      text->append(size - text->size(), '\n');
    last_ = std::move(*value);
    last_size_ = end;
  }
  void end() override {}
  result<std::string> read(std::string_view text) override {
    // Most often all of it has been read just now.
    if (last_ && last_size_ == text.size())
      return to_text(*last_);
    const auto arguments = reader_.read(text, tool_);
    if (!arguments)
      return arguments.error();
    return to_text(*arguments);
  }
  std::optional<std::string> read_unfinished(std::string_view text, std::size_t tail) override {
    auto arguments = read(text.substr(0, tail));
    if (!arguments)
      return {};
    return std::move(*arguments);
  }

private:
  const call_body& reader_;
  const protocol_tool& tool_;
  stream_output& output_;
  std::optional<json::value> last_; // the arguments as they were last read
  std::size_t last_size_ = 0;       // of the text that was
  std::size_t seen_ = 0;
  std::size_t shown_ = 0;
  std::size_t reread_ = 0;
};

} // namespace

result<json::value> body::read(std::string_view text, const protocol_tool& tool) const {
  const auto yaml = dedented(text);
  auto read = says_nothing(yaml) ? result<json::value>{json::object{}} : read_yaml(yaml);
  if (!read)
    return read.error();
  if (!read->is_object())
    return error{errc::parse_failed, "the arguments are no YAML mapping but another value"};
  return coerce(std::move(*read), tool.schema);
}

std::unique_ptr<call_facts> body::facts(const protocol_tool&) const {
  return nullptr;
}

std::unique_ptr<body_progress> body::progress(const protocol_tool& tool, const call_facts*,
                                              stream_output& output) const {
  return std::make_unique<yaml_xml::progress>(*this, tool, output);
}

} // namespace superstep::yaml_xml
