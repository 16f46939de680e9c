// SPDX-License-Identifier: Apache-2.0
#include "protocols/yaml_reader.hpp"

#include "protocols/coerce_text.hpp"
#include "protocols/yaml_lines.hpp"
#include "protocols/yaml_plain.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <istream>
#include <map>
#include <optional>
#include <streambuf>
#include <vector>

namespace superstep {

namespace {

/// A text as a stream, without a copy of it.
class view_buffer final : public std::streambuf {
public:
  explicit view_buffer(std::string_view text) {
    // The buffer is read only; the interface wants pointers that are not const.
    auto* begin = const_cast<char*>(text.data());
    setg(begin, begin, begin + text.size());
  }
};

struct refused {
  const char* why;
};

/// Builds data from what the parser meets.
class builder final : public YAML::EventHandler {
public:
  builder(std::string_view source, yaml_limits limits) : source_{source}, limits_{limits} {}

  [[nodiscard]] json::value take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t anchor) override { add(nullptr, anchor, 0); }
  void OnAlias(const YAML::Mark&, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end())
      throw refused{"an alias stands in what it is an alias of"};
    count(found->second.values, found->second.bytes);
    place(found->second.value);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    check_source(static_cast<std::size_t>(mark.pos), text);
    const auto plain = tag == "?" || tag == "tag:yaml.org,2002:int" ||
                       tag == "tag:yaml.org,2002:float" || tag == "tag:yaml.org,2002:bool" ||
                       tag == "tag:yaml.org,2002:null";
    add(plain ? plain_scalar(text) : json::value(text), anchor, text.size());
  }
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(json::array{}, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override {
    open(json::object{}, anchor);
    levels_.back().is_block = style == YAML::EmitterStyle::Block;
  }
  void OnMapEnd() override { close(); }

private:
  struct level {
    json::value value;
    YAML::anchor_t anchor;
    std::optional<std::string> key; // of a mapping, when its value is next
    std::size_t values_before;
    std::size_t bytes_before;
    bool is_block = false; // a mapping in lines
  };
  struct anchored {
    json::value value;
    std::size_t values;
    std::size_t bytes;
  };

  /// Two things that the parser lets pass: a quote without its end, and a line of a mapping
  /// without its colon.
  void check_source(std::size_t at, std::string_view text) const {
    const auto rest = source_.substr(std::min(at, source_.size()));
    if (rest.starts_with('"') || rest.starts_with('\'')) {
      if (!ends_quote(rest))
        throw refused{"a quote does not end"};
      return;
    }
    const auto is_key = !levels_.empty() && levels_.back().is_block &&
                        levels_.back().value.is_object() && !levels_.back().key;
    if (!is_key || !rest.starts_with(text) || is_asked(at))
      return;
    const auto behind = text::trim_start(rest.substr(text.size()));
    if (!behind.starts_with(':'))
      throw refused{"a line has no colon"};
  }
  static bool ends_quote(std::string_view s) {
    const auto quote = s.front();
    for (auto i = s.find_first_of("\"'\\", 1); i < s.size(); i = s.find_first_of("\"'\\", i + 1)) {
      if (s[i] == quote && quote == '\'' && s.substr(i + 1).starts_with(quote))
        ++i;
      else if (s[i] == quote)
        return true;
      else if (s[i] == '\\' && quote == '"')
        ++i;
    }
    return false;
  }
  /// `? key`, whose colon comes later.
  [[nodiscard]] bool is_asked(std::size_t at) const {
    const auto before = text::trim(source_.substr(0, at).substr(at - std::min<std::size_t>(at, 8)));
    return before.ends_with('?');
  }

  void count(std::size_t values, std::size_t bytes) {
    values_ += values;
    bytes_ += bytes;
    if (values_ > limits_.values_max || bytes_ > limits_.bytes_max)
      throw refused{"there is too much in it"};
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
      throw refused{"it is nested too deeply"};
    levels_.push_back({std::move(v), anchor, {}, values_ - 1, bytes_, false});
  }
  void close() {
    auto done = std::move(levels_.back());
    levels_.pop_back();
    if (done.anchor != 0)
      // Copies are part of the bound, too.
      anchors_[done.anchor] = {done.value, values_ - done.values_before,
                               bytes_ - done.bytes_before};
    place(std::move(done.value));
  }
  /// Puts a complete value where it belongs.
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
        throw refused{"a key stands twice"};
      return;
    }
    top.value.get_object().emplace(*top.key, std::move(v));
    top.key.reset();
  }
  static std::string key_of(const json::value& v) {
    if (v.is_structured())
      throw refused{"a key is no text"};
    if (const auto* s = v.if_string())
      return std::string{text::view(*s)};
    if (v.is_null())
      return {};
    return v.is_number() ? text::number_text(v.to_number<double>()) : to_text(v);
  }

  std::string_view source_;
  yaml_limits limits_;
  json::value root_;
  std::vector<level> levels_;
  std::map<YAML::anchor_t, anchored> anchors_;
  std::size_t values_ = 0;
  std::size_t bytes_ = 0;
};

} // namespace

result<json::value> read_yaml(std::string_view text, yaml_limits limits) {
  // Plain texts are as deep as a list in a mapping, and hold no more bytes than they are long.
  if (text.size() <= limits.bytes_max && limits.depth_max >= 2)
    if (auto plain = read_plain_yaml(text, limits.values_max))
      return json::value(std::move(*plain));
  return read_any_yaml(text, limits);
}

result<json::value> read_any_yaml(std::string_view text, yaml_limits limits) {
  const auto failed = [](std::string why) {
    return error{errc::parse_failed, "the arguments are no YAML mapping: " + std::move(why)};
  };
  if (text.size() > limits.bytes_max)
    return failed("they are too long");
  if (has_tab_indent(text))
    return failed("a tab is no indentation");
  if (is_too_deep(text, limits.depth_max))
    return failed("they are nested too deeply");
  try {
    auto buffer = view_buffer{text};
    auto in = std::istream{&buffer};
    auto parser = YAML::Parser{in};
    auto first = builder{text, limits};
    if (!parser.HandleNextDocument(first))
      return json::value{};
    auto second = builder{text, limits};
    if (parser.HandleNextDocument(second))
      return failed("there are several documents");
    return first.take();
  } catch (const YAML::Exception& e) { // yaml-cpp reports whatever is no YAML like this
    return failed(e.what());
  } catch (const refused& r) { // thrown by builder through the parser
    return failed(r.why);
  }
}

} // namespace superstep
