// SPDX-License-Identifier: Apache-2.0
#include "models/protocols/morph_xml_body.hpp"

#include "models/protocols/argument_progress.hpp"
#include "models/protocols/coerce_schema.hpp"
#include "models/protocols/string_progress.hpp"
#include "models/protocols/tool_xml_names.hpp"
#include "models/protocols/xml_elements.hpp"
#include "models/protocols/xml_scanner.hpp"

#include <superstep/models/protocols/tool_xml.hpp>

#include <utility>

namespace superstep::morph_xml {

namespace {

class progress final : public body_progress {
public:
  progress(const protocol_tool& tool, stream_output& output)
      : schema_{schema::unwrap(tool.schema)}, names_{schema_}, arguments_{&tool, output},
        elements_{names_.raw} {}

  void advance(std::string_view body) override {
    while (!arguments_.is_settled()) {
      const auto what = elements_.next(body);
      if (!may_repeat(body, what))
        arguments_.release();
      if (what == xml_elements::event::none)
        break;
      if (what == xml_elements::event::broken || !is_property())
        arguments_.settle();
      else if (what == xml_elements::event::open)
        open();
      else
        close(body);
    }
    if (!arguments_.is_settled() && elements_.is_open() && as_text_)
      show_text(body);
  }
  void end() override { arguments_.release(); }
  result<json::value> read(std::string_view text) override {
    return parse_tool_xml(text, schema_, names_, true);
  }
  std::optional<json::value> read_unfinished(std::string_view text) override;

private:
  [[nodiscard]] bool is_property() const {
    const auto* properties = schema::properties(schema_);
    return properties != nullptr && properties->contains(elements_.name());
  }

  void open() {
    as_text_ = elements_.is_raw() && arguments_.open_string(elements_.name());
    text_from_ = elements_.begin();
    begin_run();
  }
  /// Elements of one name, one after the other, are a list.
  void begin_run() {
    if (run_name_ == elements_.name())
      return;
    run_name_ = elements_.name();
    run_ = {};
  }

  void show_text(std::string_view body) {
    const auto raw = body.substr(text_from_, elements_.at() - text_from_);
    const auto length = whole_text(raw);
    if (length == 0)
      return;
    arguments_.append_string(decode_entities(raw.substr(0, length)));
    text_from_ += length;
  }

  void close(std::string_view body) {
    begin_run();
    const auto element = body.substr(elements_.element(), elements_.begin() - elements_.element());
    auto read = read_xml(element, names_.raw, {});
    if (!read || read->size() != 1)
      return arguments_.settle();
    run_.push_back(std::move(read->begin()->value()));
    arguments_.close(run_name_, run_.size() == 1 ? run_.front() : json::value(run_));
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
  xml_names names_;
  argument_progress arguments_;
  xml_elements elements_;
  std::string run_name_;      // of the elements in run_
  json::array run_;           // what they hold
  std::size_t text_from_ = 0; // of an open string: what has not been shown
  bool as_text_ = false;      // the open element is shown while it grows
};

std::optional<json::value> progress::read_unfinished(std::string_view text) {
  auto elements = xml_elements{names_.raw};
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
  auto read = this->read(text);
  if (!read)
    return {};
  return std::move(*read);
}

} // namespace

result<json::value> body::read(std::string_view text, const protocol_tool& tool) const {
  return parse_tool_xml(text, schema::unwrap(tool.schema), true);
}

std::unique_ptr<body_progress> body::progress(const protocol_tool& tool,
                                              stream_output& output) const {
  return std::make_unique<morph_xml::progress>(tool, output);
}

} // namespace superstep::morph_xml
