// SPDX-License-Identifier: Apache-2.0
#include "protocols/morph_xml_body.hpp"

#include "protocols/argument_progress.hpp"
#include "protocols/coerce_schema.hpp"
#include "protocols/string_progress.hpp"
#include "protocols/tool_xml_names.hpp"
#include "protocols/xml_elements.hpp"
#include "protocols/xml_scanner.hpp"
#include "protocols/xml_tail.hpp"

#include <superstep/protocols/tool_xml.hpp>

#include <algorithm>
#include <utility>

namespace superstep::morph_xml {

namespace {

struct tool_facts final : call_facts {
  explicit tool_facts(const protocol_tool& tool)
      : names{schema::unwrap(tool.schema)}, shape{tool.schema},
        keeps_last{keeps_last_text(schema::unwrap(tool.schema))} {}
  xml_names names;
  argument_shape shape;
  bool keeps_last; // of a text that stands twice, so that none is sure before the end
};

class progress final : public body_progress {
public:
  progress(const protocol_tool& tool, const tool_facts& facts, stream_output& output)
      : schema_{schema::unwrap(tool.schema)}, facts_{facts},
        arguments_{&tool, &facts.shape, output}, elements_{facts.names.raw} {}

  void advance(std::string_view body) override {
    while (!arguments_.is_settled()) {
      const auto what = elements_.next(body);
      if (!may_repeat(body, what))
        arguments_.release();
      if (what == xml_elements::event::none)
        break;
      const auto* property = property_of(what);
      if (property == nullptr)
        arguments_.settle();
      else if (what == xml_elements::event::open)
        open(property);
      else
        close(body, *property);
    }
    if (!arguments_.is_settled() && elements_.is_open() && as_text_)
      show_text(body);
  }
  void end() override { arguments_.release(); }
  result<std::string> read(std::string_view text) override {
    if (is_exact_ && !elements_.is_open() && elements_.at() == text.size())
      if (auto whole = arguments_.whole())
        return std::move(*whole);
    return read_again(text);
  }
  std::optional<std::string> read_unfinished(std::string_view text, std::size_t tail) override;

private:
  [[nodiscard]] result<std::string> read_again(std::string_view text) const {
    const auto arguments = parse_tool_xml(text, schema_, facts_.names, true);
    if (!arguments)
      return arguments.error();
    return to_text(*arguments);
  }

  /// Of the element of this event; null: the schema has none.
  [[nodiscard]] const parameter* property_of(xml_elements::event what) const {
    if (what == xml_elements::event::broken)
      return nullptr;
    if (opened_ != nullptr && opened_->name == elements_.name())
      return opened_;
    return facts_.shape.find(elements_.name());
  }

  void open(const parameter* property) {
    opened_ = property;
    if (facts_.keeps_last && property->is_plain_string)
      return arguments_.settle();
    as_text_ = elements_.is_raw() && arguments_.open_string(elements_.name(), property);
    text_from_ = elements_.begin();
    begin_run();
  }
  /// Elements of one name, one after the other, are a list.
  void begin_run() {
    if (run_name_ == elements_.name())
      return;
    run_name_ = elements_.name();
    run_.clear();
    run_count_ = 0;
  }

  void show_text(std::string_view body) {
    const auto end = std::max(text_from_, elements_.text_end());
    const auto raw = body.substr(text_from_, end - text_from_);
    const auto length = whole_text(raw);
    if (length == 0)
      return;
    arguments_.append_string(decode_entities(raw.substr(0, length), decoded_));
    text_from_ += length;
  }

  void close(std::string_view body, const parameter& property) {
    begin_run();
    const auto is_first = ++run_count_ == 1;
    if (property.is_plain_string && (!is_first || facts_.keeps_last))
      return arguments_.settle(); // strings stand once
    // Lists of objects are looked into once more when the whole is read.
    if (property.kind == schema::kind::array && property.items == nullptr)
      is_exact_ = false;
    const auto text = elements_.text_in(body);
    if (text && as_text_ && is_first)
      return close_shown(*text);
    auto value = json::value{};
    if (text) {
      const auto decoded = decode_entities(*text, decoded_);
      const auto content = elements_.is_raw() ? decoded : trim_xml(decoded);
      if (is_first && property.is_scalar) {
        first_ = content; // kept in case that it is repeated
        return arguments_.close_text(run_name_, &property, content);
      }
      value = json::string_view{content.data(), content.size()};
    } else {
      const auto element =
          body.substr(elements_.element(), elements_.begin() - elements_.element());
      auto read = read_xml(element, facts_.names.raw, {});
      if (!read || read->size() != 1)
        return arguments_.settle();
      value = std::move(read->begin()->value());
    }
    if (!is_first && run_.empty())
      run_.emplace_back(first_);
    run_.push_back(std::move(value));
    if (is_first)
      arguments_.close(run_name_, &property, run_.front());
    else
      arguments_.close(run_name_, &property, run_, argument_progress::form::list);
  }

  /// A text that was shown while it grew: what has been held back of it follows.
  void close_shown(std::string_view text) {
    const auto rest = text.substr(text_from_ - elements_.content());
    arguments_.append_string(decode_entities(rest, decoded_));
    arguments_.end_string(arguments_.is_choice() ? decode_entities(text, decoded_) : text);
    as_text_ = false;
  }

  /// Whether the argument that is held back may be repeated by what comes next.
  [[nodiscard]] bool may_repeat(std::string_view body, xml_elements::event what) const {
    const auto held = arguments_.held();
    if (what == xml_elements::event::open || what == xml_elements::event::close)
      return elements_.name() == held;
    if (what == xml_elements::event::broken || elements_.is_open())
      return true;
    const auto at = elements_.at();
    if (at >= body.size())
      return true;
    const auto rest = body.substr(at + 1);
    return rest.substr(0, held.size()) == held ||
           (rest.size() < held.size() && held.starts_with(rest));
  }

  const json::value& schema_;
  const tool_facts& facts_;
  argument_progress arguments_;
  xml_elements elements_;
  std::string run_name_;              // of the elements in run_
  std::size_t run_count_ = 0;         // how many there are
  std::string first_;                 // what the first of them holds, when that is a scalar
  json::array run_;                   // what they hold; empty while there is one scalar
  std::string decoded_;               // for decode_entities()
  const parameter* opened_ = nullptr; // of the last element that was opened
  std::size_t text_from_ = 0;         // of an open string: what has not been shown
  bool as_text_ = false;              // the open element is shown while it grows
  bool is_exact_ = true;              // each element has been read as the whole would
};

/// Half of the tool's close tag is left where it is: it may be that of an element.
std::optional<std::string> progress::read_unfinished(std::string_view text, std::size_t) {
  auto elements = xml_elements{facts_.names.raw};
  auto what = elements.next(text);
  while (what == xml_elements::event::open || what == xml_elements::event::close)
    what = elements.next(text);
  if (elements.has_text() || what == xml_elements::event::broken)
    return {};
  const auto whole = without_cut_tag(text, elements.is_open());
  if (!whole)
    return {};
  // White space at the end belongs to an open element.
  auto read = read_again(elements.is_open() ? balance_xml(*whole) : std::string{*whole});
  if (!read)
    return {};
  return std::move(*read);
}

} // namespace

result<json::value> body::read(std::string_view text, const protocol_tool& tool) const {
  return parse_tool_xml(text, schema::unwrap(tool.schema), true);
}

std::unique_ptr<call_facts> body::facts(const protocol_tool& tool) const {
  return std::make_unique<tool_facts>(tool);
}

std::unique_ptr<body_progress> body::progress(const protocol_tool& tool, const call_facts* facts,
                                              stream_output& output) const {
  return std::make_unique<morph_xml::progress>(tool, static_cast<const tool_facts&>(*facts),
                                               output);
}

} // namespace superstep::morph_xml
