// SPDX-License-Identifier: Apache-2.0
// The morph_xml protocol: prompt, history, streamed arguments and complete texts. Calls are found
// by elements/xml_calls.cpp and elements/element_stream.cpp; arguments are parsed by
// elements/tool_xml.cpp.
#include "models/json_schema.hpp"
#include "protocols/argument_progress.hpp"
#include "protocols/elements/element_stream.hpp"
#include "protocols/elements/tool_xml.hpp"
#include "protocols/elements/xml_calls.hpp"
#include "protocols/elements/xml_elements.hpp"
#include "protocols/elements/xml_layout.hpp"
#include "protocols/elements/xml_scanner.hpp"
#include "protocols/relaxed_json.hpp"
#include "protocols/text.hpp"

#include <superstep/protocols/tool_protocol.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace superstep::morph_xml {

namespace {

/// Returns the type of a value in JavaScript's notation.
std::string kind_of_value(const json::value& v) {
  if (v.is_string())
    return "string";
  if (v.is_number())
    return "number";
  return v.is_bool() ? "boolean" : "object";
}

std::string type_name(const json::value& schema) {
  if (const auto* type = schema::member(schema, "type")) {
    if (const auto* list = type->if_array()) {
      auto out = std::string{};
      for (const auto& each : *list)
        if (each.is_string())
          out += (out.empty() ? "" : " | ") + std::string{text::view(each.get_string())};
      return out;
    }
    if (type->is_string()) {
      auto name = std::string{text::view(type->get_string())};
      const auto* items = schema::member(schema, "items");
      if (name == "array" && items != nullptr)
        return "array<" + type_name(*items) + '>';
      const auto* format = schema::member(schema, "format");
      if (name == "string" && format != nullptr && format->is_string())
        name += " (" + std::string{text::view(format->get_string())} + ')';
      return name;
    }
  }
  const auto* members = schema::member(schema, "enum");
  if (members != nullptr && members->is_array() && !members->get_array().empty())
    return kind_of_value(members->get_array().front());
  if (const auto* only = schema::member(schema, "const"))
    return kind_of_value(*only);
  return "any";
}

/// Returns the members of an enum for the prompt. Of a long enum, only the first members are
/// listed, with their total number.
std::string enum_text(const json::array& members) {
  constexpr auto all_max = std::size_t{6};
  constexpr auto shown = std::size_t{5};
  auto out = std::string{"enum: ["};
  const auto count = members.size() > all_max ? shown : members.size();
  for (auto i = std::size_t{0}; i < count; ++i)
    out += (i == 0 ? "" : ", ") + to_text(members[i]);
  if (members.size() > all_max)
    out += ", ... (" + std::to_string(members.size()) + " total)";
  return out + ']';
}

std::string parameter_line(std::string_view name, const json::value& schema, bool required) {
  auto extras = std::string{};
  const auto add = [&](std::string_view extra) {
    extras += extras.empty() ? " - " : "; ";
    extras += extra;
  };
  if (const auto* members = schema::member(schema, "enum"); members && members->is_array())
    add(enum_text(members->get_array()));
  if (const auto* value = schema::member(schema, "default"))
    add("default: " + to_text(*value));
  if (const auto* about = schema::member(schema, "description"); about && about->is_string())
    add(text::view(about->get_string()));
  return "  - " + std::string{name} + " (" + type_name(schema) +
         (required ? ", required)" : ", optional)") + extras + '\n';
}

bool is_required(const json::value& schema, std::string_view name) {
  const auto* list = schema::member(schema, "required");
  return list != nullptr && list->is_array() &&
         std::ranges::any_of(list->get_array(), [&](const auto& each) {
           return each.is_string() && text::view(each.get_string()) == name;
         });
}

/// Whether the schema describes arguments that are not an object.
bool describes_value(const json::value& schema) {
  const auto* members = schema.if_object();
  if (members == nullptr || members->empty() || members->contains("properties"))
    return false;
  const auto* type = members->if_contains("type");
  const auto* list = type != nullptr ? type->if_array() : nullptr;
  return type == nullptr ||
         (*type != json::value("object") &&
          (list == nullptr || std::ranges::find(*list, json::value("object")) == list->end()));
}

std::string paragraph(const protocol_tool& tool) {
  const auto& schema = schema::unwrap(tool.schema);
  auto out = "name: " + tool.name + '\n';
  if (!tool.description.empty())
    out += "description: " + tool.description + '\n';
  out += "parameters:\n";
  auto names = std::vector<std::string_view>{};
  const auto* properties = schema::properties(schema);
  if (properties != nullptr)
    for (const auto& property : *properties)
      names.push_back(text::view(property.key()));
  std::ranges::sort(names);
  for (const auto name : names)
    out += parameter_line(name, properties->at(name), is_required(schema, name));
  if (names.empty())
    out += describes_value(schema) ? "  - value (" + type_name(schema) + ")\n"
                                   : "  (no named parameters)\n";
  auto shown = schema;
  if (auto* object = shown.if_object())
    object->stable_erase("$schema");
  return out + "schema: " + to_text(shown);
}

/// Returns a paragraph per tool.
std::string tool_paragraphs(const std::vector<protocol_tool>& tools) {
  if (tools.empty())
    return "none";
  auto out = std::string{};
  for (const auto& tool : tools)
    out += (out.empty() ? "" : "\n\n") + paragraph(tool);
  return out;
}

std::string system_prompt(const std::vector<protocol_tool>& tools) {
  return "# Tools\n\nYou can call tools. They are listed here, with the types of their "
         "parameters:\n<tools>\n" +
         tool_paragraphs(tools) +
         "\n</tools>\n\n# Rules\n"
         "- A call is an XML element named after the tool, with an element per parameter in it, "
         "named after the parameter. Names are case sensitive; tags have no attributes.\n"
         "- Write a list as one element per item, an object as elements in the element. A list of "
         "no "
         "item or of one may be JSON in its element: [] or [\"first\"].\n"
         "- Give every required parameter. Do not invent tools, parameters or values: ask for what "
         "you do not know.\n"
         "- Several calls may stand one after the other. Reasons for a call go before it.\n"
         "- Write calls as they are, not in code fences. When no tool is needed, just answer.\n\n"
         "# Form of a call\n"
         "<tool_name>\n  <parameter>value</parameter>\n  <list>first</list>\n  "
         "<list>second</list>\n"
         "  <object>\n    <key>value</key>\n  </object>\n</tool_name>";
}

} // namespace

/// Parses arguments written as elements; see parse_tool_xml().
class body final : public call_body {
public:
  [[nodiscard]] bool close_has_spaces() const noexcept override { return true; }
  [[nodiscard]] result<json::value> read(std::string_view body,
                                         const protocol_tool& tool) const override;
  [[nodiscard]] std::unique_ptr<call_facts> facts(const protocol_tool& tool) const override;
  [[nodiscard]] std::unique_ptr<body_progress> progress(const protocol_tool& tool,
                                                        const call_facts* facts,
                                                        stream_output& output) const override;
};

namespace {

struct tool_facts final : call_facts {
  explicit tool_facts(const protocol_tool& tool)
      : names{schema::unwrap(tool.schema)}, shape{tool.schema},
        keeps_last{keeps_last_text(schema::unwrap(tool.schema))} {}
  xml_names names;
  argument_shape shape;
  bool keeps_last; // whether a later string replaces an earlier one; see keeps_last_text()
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

  /// Returns the property that the element of the event names; null for the event `broken`, and if
  /// the schema has no such property.
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
  /// Begins a new run unless the element has the name of the current one. A run is a sequence of
  /// elements with the same name, whose values become a list.
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
      return arguments_.settle(); // a repeated string is an error, or replaces the earlier one
    // Lists of objects may need the repair in parse_tool_xml(), which parses the complete body.
    if (property.kind == schema::kind::array && property.items == nullptr)
      is_exact_ = false;
    const auto element = body.substr(elements_.element(), elements_.begin() - elements_.element());
    // Entities are decoded after the coercion, and a second value replaces an empty first one.
    // parse_tool_xml() does both.
    if (!property.can_grow && element.find('&') != element.npos)
      return arguments_.settle();
    if (run_count_ == 2 && (run_.empty() ? first_.empty() : run_.front() == json::value("")))
      return arguments_.settle();
    if (contains_text_parameter(element.substr(1)))
      is_exact_ = false;
    const auto text = elements_.text_in(body);
    if (text && as_text_ && is_first)
      return close_shown(*text);
    auto value = json::value{};
    if (text) {
      const auto decoded = decode_entities(*text, decoded_);
      const auto content = elements_.is_raw() ? decoded : text::trim(decoded);
      if (is_first && property.is_scalar) {
        first_ = content; // needed if the element is repeated and the values become a list
        return arguments_.close_text(run_name_, &property, content);
      }
      value = json::string_view{content.data(), content.size()};
    } else {
      auto read = read_xml(element, facts_.names.raw);
      if (!read || read->size() != 1)
        return arguments_.settle();
      value = std::move(read->begin()->value());
    }
    if (!is_first && run_.empty())
      run_.emplace_back(first_);
    run_.push_back(std::move(value));
    if (is_first)
      arguments_.close(run_name_, &property, argument_of(run_.front(), property.schema));
    else
      arguments_.close(run_name_, &property, argument_of(run_, property.schema),
                       argument_progress::form::list);
  }

  /// Whether there is a tag of a top-level string property. If it is inside another element, only
  /// parse_tool_xml() gives the exact result.
  [[nodiscard]] bool contains_text_parameter(std::string_view text) const {
    auto tag = xml_tag{};
    for (auto at = text.find('<'); at != text.npos; at = text.find('<', at + 1))
      if (read_tag(text, at, tag) && !tag.is_close &&
          facts_.names.once.contains(std::string{tag.name}))
        return true;
    return false;
  }

  /// Ends a string that was reported while it grew, and reports its last part.
  void close_shown(std::string_view text) {
    const auto rest = text.substr(text_from_ - elements_.content());
    arguments_.append_string(decode_entities(rest, decoded_));
    arguments_.end_string(arguments_.is_choice() ? decode_entities(text, decoded_) : text);
    as_text_ = false;
  }

  /// Whether the next element may have the same name as the argument that is held back, so that
  /// both would become a list.
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
  std::string run_name_;              // name of the elements of the current run
  std::size_t run_count_ = 0;         // number of elements in the run
  std::string first_;                 // value of the first element, if it is a scalar
  json::array run_;                   // values of the run; empty while it is a single scalar
  std::string decoded_;               // buffer for decode_entities()
  const parameter* opened_ = nullptr; // property of the last element that was opened
  std::size_t text_from_ = 0;         // begin of the unreported part of an open string
  bool as_text_ = false;              // whether the open string is reported while it grows
  bool is_exact_ = true;              // false if only parse_tool_xml() gives the exact result
};

/// The second parameter, the position of an incomplete close tag, is not used: the tag may be that
/// of an element. without_cut_tag() decides.
std::optional<std::string> progress::read_unfinished(std::string_view text, std::size_t) {
  auto elements = xml_elements{facts_.names.raw};
  auto what = elements.next(text);
  while (what == xml_elements::event::open || what == xml_elements::event::close)
    what = elements.next(text);
  if (elements.has_text()) // before the end, or before a tag that only balance_xml() can repair
    return {};
  const auto whole = without_cut_tag(text, elements.is_open());
  if (!whole)
    return {};
  // White space at the end is content of the open element. balance_xml() closes the element after
  // it; without a close tag, the parser would remove the white space.
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

namespace superstep {

namespace {

class morph_xml_protocol final : public tool_protocol {
public:
  std::string_view name() const noexcept override { return "morph_xml"; }

  std::string tool_list(const std::vector<protocol_tool>& tools) const override {
    return morph_xml::tool_paragraphs(tools);
  }
  std::string prompt(const std::vector<protocol_tool>& tools) const override {
    return morph_xml::system_prompt(tools);
  }
  std::string example_call(std::string_view tool, const json::value& arguments) const override {
    return call_xml(tool, arguments);
  }
  std::string format_call(std::string_view tool, std::string_view arguments) const override {
    auto parsed = parse_lenient_json(arguments);
    return call_xml(tool, parsed
                              ? *parsed
                              : json::value(json::string_view{arguments.data(), arguments.size()}));
  }
  std::string format_result(std::string_view tool, const json::value& result) const override {
    return result_xml(tool, result);
  }

  std::vector<parsed_part> parse(std::string_view text, const std::vector<protocol_tool>& tools,
                                 const protocol_error_handler& on_error) const override {
    const auto names = tool_names{tools};
    auto calls = find_xml_calls(text, names, cut_close_tag::closes);
    if (calls.empty())
      if (const auto call = find_line_call(text, names))
        calls.push_back(*call);
    if (calls.empty())
      if (const auto call = find_torn_call(text, names))
        calls.push_back(*call);
    const auto read = [&](const xml_call& call) {
      return body_.read(text.substr(call.body_begin, call.body_end - call.body_begin), *call.tool);
    };
    return split_at_calls(text, calls, blank_text::keep, read, on_error);
  }

  std::unique_ptr<protocol_stream> stream(const std::vector<protocol_tool>& tools,
                                          stream_options options, protocol_event_handler on_event,
                                          protocol_error_handler on_error) const override {
    return std::make_unique<element_stream>(body_, tools, options, std::move(on_event),
                                            std::move(on_error));
  }

private:
  morph_xml::body body_;
};

} // namespace

tool_protocol_ptr make_morph_xml() {
  return std::make_shared<const morph_xml_protocol>();
}

} // namespace superstep
