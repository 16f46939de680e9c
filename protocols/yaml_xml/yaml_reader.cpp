// SPDX-License-Identifier: Apache-2.0
// Parses any YAML with yaml-cpp. Limits are checked before and during parsing, because the text
// comes from a model. The fast path is in yaml_plain.cpp.
#include "protocols/text.hpp"
#include "protocols/yaml_xml/yaml.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <istream>
#include <limits>
#include <map>
#include <optional>
#include <streambuf>
#include <string_view>
#include <system_error>
#include <vector>

namespace superstep {

namespace {

/// Calls `visit` with each line and its indentation. The content of block scalars is skipped,
/// because it is arbitrary text.
/// @param visit returns false to stop
template <class Visit>
void for_each_structure_line(std::string_view text, const Visit& visit) {
  auto block_indent = std::string_view::npos; // indentation of the key of an open block scalar
  for (auto from = std::size_t{0}; from < text.size();) {
    const auto end = std::min(text.find('\n', from), text.size());
    const auto line = text.substr(from, end - from);
    from = end + 1;
    const auto indent = line.find_first_not_of(' ');
    if (indent == line.npos || (block_indent != line.npos && indent > block_indent))
      continue;
    block_indent = line.npos;
    if (!visit(line, indent))
      return;
    const auto content = text::trim(line);
    const auto mark = content.find_last_of("|>");
    if (mark != content.npos && mark + 3 >= content.size() &&
        content.find_first_not_of("|>+-0123456789", mark) == content.npos &&
        (mark == 0 || content[mark - 1] == ' '))
      block_indent = indent;
  }
}

/// Returns the number, from 1, of the first line outside block scalars that is indented with a tab,
/// which YAML forbids; 0 without such a line. yaml-cpp does not report it.
std::size_t line_with_tab_indent(std::string_view text) {
  auto found = std::size_t{0};
  for_each_structure_line(text, [&](std::string_view line, std::size_t indent) {
    if (line[indent] == '\t' && line.find_first_not_of(" \t\r") != line.npos)
      found = 1 + static_cast<std::size_t>(std::count(text.data(), line.data(), '\n'));
    return found == 0;
  });
  return found;
}

/// Whether brackets and the marks `-`, `?` and `:` are nested deeper than the limit. Checked before
/// parsing, because yaml-cpp needs quadratic time for deeply nested text.
bool is_too_deep(std::string_view text, std::size_t depth_max) {
  auto depth = std::size_t{0};
  auto too_deep = false;
  for_each_structure_line(text, [&](std::string_view line, std::size_t) {
    auto marks = std::size_t{0}; // number of marks as in `- ? -`, each of which opens a level
    auto before = '\n';
    for (auto i = std::size_t{0}; i < line.size() && !too_deep; ++i) {
      const auto c = line[i];
      const auto begins = std::string_view{"\n:-,[{?"}.find(before) != std::string_view::npos;
      if ((c == '[' || c == '{') && begins)
        ++depth;
      else if ((c == ']' || c == '}') && depth > 0)
        --depth;
      else if ((c == '-' || c == '?' || c == ':') && begins && line.substr(i + 1).starts_with(' '))
        ++marks;
      too_deep = depth + marks > depth_max;
      if (c != ' ')
        before = c;
    }
    return !too_deep;
  });
  return too_deep;
}

std::optional<double> digits_of(std::string_view s, int base) {
  if (s.empty())
    return {};
  auto value = 0.0;
  for (const auto c : s) {
    const auto letter = ascii_lower(c) - 'a';
    const auto digit = text::is_digit(c) ? c - '0' : letter >= 0 && letter < 6 ? letter + 10 : 99;
    if (digit >= base)
      return {};
    value = value * base + digit;
  }
  return value;
}

/// Parses a number of the form `[-+]? (.digits | digits[.digits?]) ([eE][-+]?digits)?`.
std::optional<double> decimal_of(std::string_view s) {
  const auto negative = s.starts_with('-');
  if (negative || s.starts_with('+'))
    s.remove_prefix(1);
  auto rest = s;
  const auto skip_digits = [&] {
    const auto from = rest.size();
    while (!rest.empty() && text::is_digit(rest.front()))
      rest.remove_prefix(1);
    return from - rest.size();
  };
  auto digits = skip_digits();
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    digits += skip_digits();
  }
  if (digits == 0)
    return {};
  if (!rest.empty()) {
    if (rest.front() != 'e' && rest.front() != 'E')
      return {};
    rest.remove_prefix(1);
    if (rest.starts_with('-') || rest.starts_with('+'))
      rest.remove_prefix(1);
    if (skip_digits() == 0 || !rest.empty())
      return {};
  }
  auto value = 0.0;
  const auto read = std::from_chars(s.data(), s.data() + s.size(), value);
  if (read.ec == std::errc::result_out_of_range) // too large, or so small that it is rounded to 0
    value = s.find("e-") == s.npos && s.find("E-") == s.npos
                ? std::numeric_limits<double>::infinity()
                : 0.0;
  return negative ? -value : value;
}

bool is_one_of(std::string_view s, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, s) != words.end();
}

bool is_null_word(std::string_view s) {
  return is_one_of(s, {"~", "null", "Null", "NULL"});
}

} // namespace

json::value plain_scalar(std::string_view s) {
  if (s.empty() || is_null_word(s))
    return nullptr;
  if (is_one_of(s, {"true", "True", "TRUE"}))
    return true;
  if (is_one_of(s, {"false", "False", "FALSE"}))
    return false;
  if (s.starts_with("0o"))
    if (const auto value = digits_of(s.substr(2), 8))
      return text::number_value(*value);
  if (s.starts_with("0x"))
    if (const auto value = digits_of(s.substr(2), 16))
      return text::number_value(*value);
  const auto unsigned_part = s.substr(s.starts_with('-') || s.starts_with('+') ? 1 : 0);
  // JSON can represent neither infinity nor NaN.
  if (is_one_of(unsigned_part, {".inf", ".Inf", ".INF"}) || is_one_of(s, {".nan", ".NaN", ".NAN"}))
    return nullptr;
  const auto has_plus = s.starts_with('+') && !unsigned_part.starts_with('-');
  if (auto integer = text::integer_of(has_plus ? unsigned_part : s))
    return *std::move(integer);
  if (const auto value = decimal_of(s))
    return std::isfinite(*value) ? text::number_value(*value) : json::value{};
  return json::string_view{s.data(), s.size()};
}

namespace {

/// A stream buffer over a text that is not copied.
class view_buffer final : public std::streambuf {
public:
  explicit view_buffer(std::string_view text) {
    // The buffer is read only, but the interface requires non-const pointers.
    auto* begin = const_cast<char*>(text.data());
    setg(begin, begin, begin + text.size());
  }
};

/// The exception by which the builder stops the parser. Caught in read_any_yaml().
struct refused {
  std::string why;
};

/// Returns an error text with a line number, counted from 1.
/// @param line the number as yaml-cpp reports it, counted from 0
std::string at_line(int line, const std::string& why) {
  return "line " + std::to_string(line + 1) + ": " + why;
}

std::string too_deep_text(const yaml_limits& limits) {
  return "they are nested deeper than " + std::to_string(limits.depth_max) + " levels";
}

/// Builds a JSON value from the events of the parser.
class builder final : public YAML::EventHandler {
public:
  builder(std::string_view source, yaml_limits limits) : source_{source}, limits_{limits} {}

  [[nodiscard]] json::value take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    line_ = mark.line;
    // The null may be a word, or nothing at all.
    const auto at = static_cast<std::size_t>(mark.pos);
    const auto rest = source_.substr(std::min(at, source_.size()));
    const auto word = rest.substr(0, rest.find_first_of(" \t\r\n:#,]}"));
    if (is_null_word(word))
      check_source(at, word);
    add(nullptr, anchor, 0);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    line_ = mark.line;
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end())
      refuse("an alias refers to a value that contains it");
    count(found->second.values, found->second.bytes);
    place(found->second.value);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    line_ = mark.line;
    check_source(static_cast<std::size_t>(mark.pos), text);
    const auto plain = tag == "?" || tag == "tag:yaml.org,2002:int" ||
                       tag == "tag:yaml.org,2002:float" || tag == "tag:yaml.org,2002:bool" ||
                       tag == "tag:yaml.org,2002:null";
    auto value = plain ? plain_scalar(text) : json::value(text);
    if (levels_.empty() && value.is_null() && !text.empty() && !is_null_word(text))
      refuse("the number \"" + shortened(text) + "\" is not a mapping"); // infinity or NaN
    add(std::move(value), anchor, text.size());
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    line_ = mark.line;
    open(json::array{}, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override {
    line_ = mark.line;
    open(json::object{}, anchor);
    levels_.back().is_block = style == YAML::EmitterStyle::Block;
  }
  void OnMapEnd() override { close(); }

private:
  struct level {
    json::value value;
    YAML::anchor_t anchor;
    std::optional<std::string> key; // in a mapping: the key whose value comes next
    std::size_t values_before;      // values_ when this level began
    std::size_t bytes_before;       // bytes_ when this level began
    bool is_block = false;          // whether it is a mapping in block style, not in braces
    int line = 0;                   // on which the value begins, from 0
  };
  struct anchored {
    json::value value;
    std::size_t values;
    std::size_t bytes;
  };

  /// Rejects two errors that yaml-cpp accepts: a quote without an end, and a line of a mapping
  /// without a colon.
  void check_source(std::size_t at, std::string_view text) const {
    const auto rest = source_.substr(std::min(at, source_.size()));
    if (rest.starts_with('"') || rest.starts_with('\'')) {
      if (!ends_quote(rest))
        refuse("the quote has no end");
      return;
    }
    const auto is_key = !levels_.empty() && levels_.back().is_block &&
                        levels_.back().value.is_object() && !levels_.back().key;
    if (!is_key || !rest.starts_with(text) || is_asked(at))
      return;
    const auto behind = text::trim_start(rest.substr(text.size()));
    if (!behind.starts_with(':'))
      refuse("a colon is missing after the key \"" + shortened(text) + '"');
  }
  [[noreturn]] void refuse(const std::string& why) const { throw refused{at_line(line_, why)}; }
  static std::string shortened(std::string_view text) {
    constexpr auto bytes_max = std::size_t{80};
    return text.size() <= bytes_max ? std::string{text}
                                    : std::string{text.substr(0, bytes_max)} + "...";
  }
  static bool ends_quote(std::string_view s) {
    const auto quote = s.front();
    for (auto i = s.find_first_of("\"'\\", 1); i < s.size(); i = s.find_first_of("\"'\\", i + 1)) {
      const auto is_doubled = s[i] == quote && quote == '\'' && s.substr(i + 1).starts_with(quote);
      const auto is_escape = s[i] == '\\' && quote == '"';
      if (is_doubled || is_escape)
        ++i;
      else if (s[i] == quote)
        return true;
    }
    return false;
  }
  /// Whether the key at this position has the form `? key`, in which the colon is on a later line.
  [[nodiscard]] bool is_asked(std::size_t at) const {
    const auto before = text::trim(source_.substr(0, at).substr(at - std::min<std::size_t>(at, 8)));
    return before.ends_with('?');
  }

  void count(std::size_t values, std::size_t bytes) {
    values_ += values;
    bytes_ += bytes;
    if (values_ > limits_.values_max || bytes_ > limits_.bytes_max)
      throw refused{"they have more than " + std::to_string(limits_.values_max) +
                    " values, or more than " + std::to_string(limits_.bytes_max) + " bytes"};
  }
  void add(json::value v, YAML::anchor_t anchor, std::size_t bytes) {
    count(1, bytes);
    if (anchor != 0)
      anchors_[anchor] = {v, 1, bytes};
    place(std::move(v));
  }
  void open(json::value v, YAML::anchor_t anchor) {
    count(1, 0);
    if (levels_.size() >= limits_.depth_max)
      throw refused{too_deep_text(limits_)};
    levels_.push_back({std::move(v), anchor, {}, values_ - 1, bytes_, false, line_});
  }
  void close() {
    auto done = std::move(levels_.back());
    levels_.pop_back();
    if (done.anchor != 0)
      // Each use of an alias copies the value, so the size of the value is recorded.
      anchors_[done.anchor] = {done.value, values_ - done.values_before,
                               bytes_ - done.bytes_before};
    line_ = done.line;
    place(std::move(done.value));
  }
  /// Adds a complete value to its parent.
  void place(json::value v) {
    if (levels_.empty()) {
      root_ = std::move(v);
      return;
    }
    auto& top = levels_.back();
    if (auto* list = top.value.if_array()) {
      list->push_back(std::move(v));
      return;
    }
    if (!top.key) {
      top.key = key_of(v);
      if (top.value.get_object().contains(*top.key))
        refuse("the key \"" + shortened(*top.key) + "\" is repeated");
      return;
    }
    top.value.get_object().emplace(*top.key, std::move(v));
    top.key.reset();
  }
  [[nodiscard]] std::string key_of(const json::value& v) const {
    if (v.is_structured())
      refuse("a key must be a text or number, not a list or mapping");
    if (const auto* s = v.if_string())
      return std::string{text::view(*s)};
    if (v.is_null())
      return {};
    return v.is_number() ? text::number_text(v) : to_text(v);
  }

  std::string_view source_;
  yaml_limits limits_;
  json::value root_;
  std::vector<level> levels_;
  std::map<YAML::anchor_t, anchored> anchors_;
  std::size_t values_ = 0;
  std::size_t bytes_ = 0;
  int line_ = 0; // of the current event, from 0
};

} // namespace

result<json::value> read_yaml(std::string_view text, yaml_limits limits) {
  // The fast path checks only the number of values. Its results have a depth of at most 2 and are
  // not longer than the text, so the other limits are checked here.
  if (text.size() <= limits.bytes_max && limits.depth_max >= 2)
    if (auto plain = read_plain_yaml(text, limits.values_max))
      return json::value(std::move(*plain));
  return read_any_yaml(text, limits);
}

result<json::value> read_any_yaml(std::string_view text, yaml_limits limits) {
  const auto failed = [](std::string why) {
    return error{errc::parse_failed, "the YAML arguments are invalid: " + std::move(why)};
  };
  if (text.size() > limits.bytes_max)
    return failed("they are longer than " + std::to_string(limits.bytes_max) + " bytes");
  if (const auto line = line_with_tab_indent(text); line > 0)
    return failed("line " + std::to_string(line) + ": tabs cannot be used as indentation");
  if (is_too_deep(text, limits.depth_max))
    return failed(too_deep_text(limits));
  try {
    auto buffer = view_buffer{text};
    auto in = std::istream{&buffer};
    auto parser = YAML::Parser{in};
    auto first = builder{text, limits};
    if (!parser.HandleNextDocument(first))
      return json::value{};
    auto second = builder{text, limits};
    if (parser.HandleNextDocument(second))
      return failed("they contain more than one document");
    return first.take();
  } catch (const YAML::Exception& e) { // invalid YAML
    return failed(e.mark.is_null() ? e.msg : at_line(e.mark.line, e.msg));
  } catch (const refused& r) { // thrown by builder through the parser
    return failed(r.why);
  }
}

} // namespace superstep
