// SPDX-License-Identifier: Apache-2.0
#include "models/protocols/morph_xml_body.hpp"

#include "models/protocols/coerce_schema.hpp"
#include "models/protocols/coerce_text.hpp"
#include "models/protocols/string_progress.hpp"
#include "models/protocols/tool_xml_names.hpp"
#include "models/protocols/xml_elements.hpp"
#include "models/protocols/xml_scanner.hpp"

#include <superstep/models/protocols/tool_xml.hpp>

#include <utility>

namespace superstep::morph_xml {

namespace {

// Bytes read again for the sake of what is shown early; then the rest waits for the end.
constexpr auto reread_bytes_max = std::size_t{256} * 1024;

class progress final : public body_progress {
public:
  progress(const protocol_tool& tool, stream_output& output)
      : schema_{schema::unwrap(tool.schema)}, output_{output}, raw_{raw_names_of(schema_)},
        elements_{raw_} {}

  void advance(std::string_view body) override {
    while (!is_settled_) {
      const auto what = elements_.next(body);
      if (!held_.empty() && !may_repeat(body, what))
        show_held();
      if (what != xml_elements::event::none)
        held_.clear();
      if (what == xml_elements::event::none)
        break;
      if (what == xml_elements::event::broken || !is_property())
        is_settled_ = true;
      else if (what == xml_elements::event::open)
        open();
      else
        close(body);
    }
    if (!is_settled_ && elements_.is_open() && as_text_)
      show_text(body);
  }

  void end() override {
    if (!held_.empty() && !is_settled_)
      show_held();
  }

private:
  [[nodiscard]] bool is_property() const {
    const auto* properties = schema::properties(schema_);
    return properties != nullptr && properties->contains(elements_.name());
  }

  void open() {
    as_text_ = false;
    const auto& name = elements_.name();
    if (!elements_.is_raw() || !is_plain_string(schema_, name) || shown_.contains(name) ||
        !output_.progress().may_show())
      return;
    auto members = shown_;
    members.emplace(name, "");
    as_text_ = output_.progress().show(json::value(std::move(members)));
    text_from_ = elements_.begin();
  }

  void show_text(std::string_view body) {
    const auto raw = body.substr(text_from_, elements_.at() - text_from_);
    const auto length = whole_text(raw);
    if (length == 0)
      return;
    output_.progress().append_string(decode_entities(raw.substr(0, length)));
    text_from_ += length;
  }

  /// All elements up to here, read as the whole will be. A string or a list stays what it is; any
  /// other value becomes a list when its element is repeated, so it waits for the next tag.
  void close(std::string_view body) {
    const auto so_far = body.substr(0, elements_.begin());
    reread_ += so_far.size();
    held_.clear();
    if (reread_ > reread_bytes_max || !output_.progress().may_show()) {
      is_settled_ = true;
      return;
    }
    auto value = parse_tool_xml(so_far, schema_, false);
    if (!value || !value->is_object() || !lists_are_lists(*value, schema_)) {
      // It may be shown with the next element.
      return;
    }
    const auto* member = value->get_object().if_contains(elements_.name());
    next_ = std::move(value->get_object());
    if (member != nullptr && !is_plain_string(schema_, elements_.name()) && !is_list())
      held_ = elements_.name();
    else
      show_next();
  }

  [[nodiscard]] bool is_list() const {
    const auto* member = next_.if_contains(elements_.name());
    return member != nullptr && member->is_array();
  }

  /// Whether the element that has been held back may begin once more.
  [[nodiscard]] bool may_repeat(std::string_view body, xml_elements::event what) const {
    if (what == xml_elements::event::open || what == xml_elements::event::close)
      return elements_.name() == held_;
    if (what == xml_elements::event::broken)
      return true;
    const auto at = elements_.at();
    if (at >= body.size())
      return true;
    const auto rest = body.substr(at + 1);
    return rest.substr(0, held_.size()) == held_ ||
           (rest.size() < held_.size() && std::string_view{held_}.starts_with(rest));
  }

  void show_held() {
    held_.clear();
    show_next();
  }

  void show_next() {
    shown_ = std::move(next_);
    next_ = {};
    output_.progress().show(json::value(shown_));
  }

  const json::value& schema_;
  stream_output& output_;
  raw_names raw_;
  xml_elements elements_;
  json::object shown_;        // the arguments as they were last shown
  json::object next_;         // as they are to be shown next
  std::string held_;          // the element that next_ waits for; empty: none
  std::size_t text_from_ = 0; // of an open string: what has not been shown
  std::size_t reread_ = 0;
  bool as_text_ = false;    // the open element is shown while it grows
  bool is_settled_ = false; // nothing more is shown before the end
};

} // namespace

result<json::value> body::read(std::string_view text, const protocol_tool& tool) const {
  return parse_tool_xml(text, schema::unwrap(tool.schema), true);
}

std::optional<json::value> body::read_unfinished(std::string_view text,
                                                 const protocol_tool& tool) const {
  const auto raw = raw_names_of(schema::unwrap(tool.schema));
  auto elements = xml_elements{raw};
  auto what = elements.next(text);
  while (what == xml_elements::event::open || what == xml_elements::event::close)
    what = elements.next(text);
  if (elements.has_text() || what == xml_elements::event::broken)
    return {};
  // A tag that was cut is dropped. In a string only its own close tag is one.
  if (const auto cut = text.rfind('<'); cut != text.npos && text.find('>', cut) == text.npos) {
    const auto is_text = elements.is_open() && elements.is_raw() && elements.at() != cut;
    if (!is_text)
      text = text.substr(0, cut);
  }
  auto read = this->read(text, tool);
  if (!read)
    return {};
  return std::move(*read);
}

std::unique_ptr<body_progress> body::progress(const protocol_tool& tool,
                                              stream_output& output) const {
  return std::make_unique<morph_xml::progress>(tool, output);
}

} // namespace superstep::morph_xml
