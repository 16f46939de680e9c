// SPDX-License-Identifier: Apache-2.0
// Converts human_interrupt and human_response to JSON and back. Error texts name the record and its
// member.
#include <superstep/tools/human_review.hpp>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace superstep {

namespace {

using response_kind = human_response::kind;
constexpr auto response_kinds = std::array{
    std::pair<std::string_view, response_kind>{"accept", response_kind::accept},
    std::pair<std::string_view, response_kind>{"ignore", response_kind::ignore},
    std::pair<std::string_view, response_kind>{"response", response_kind::response},
    std::pair<std::string_view, response_kind>{"edit", response_kind::edit},
};

/// Reads the members of one record, and keeps the first error.
class record_reader {
public:
  record_reader(std::string_view record, const json::value& v)
      : record_{record}, members_{v.if_object()} {
    if (members_ == nullptr)
      fail("must be an object");
  }

  const json::value* find(std::string_view name) {
    return members_ != nullptr ? members_->if_contains(name) : nullptr;
  }
  bool flag(std::string_view name) {
    const auto* v = find(name);
    if (v == nullptr || !v->is_bool())
      fail("needs a boolean \"" + std::string{name} + '"');
    return v != nullptr && v->is_bool() && v->get_bool();
  }
  std::string text(std::string_view name) {
    const auto* v = find(name);
    if (v != nullptr && v->is_string())
      return std::string{std::string_view{v->get_string()}};
    fail("needs a string \"" + std::string{name} + '"');
    return {};
  }
  json::object object(std::string_view name) {
    const auto* v = find(name);
    if (v != nullptr && v->is_object())
      return v->get_object();
    fail("needs an object \"" + std::string{name} + '"');
    return {};
  }
  void fail(const std::string& what) {
    if (what_.empty())
      what_ = record_ + ' ' + what;
  }
  void fail(const error& inner) { fail("contains an invalid member: " + inner.text); }

  /// @param names names of all allowed members
  template <class T>
  result<T> done(T read, std::initializer_list<std::string_view> names) {
    if (members_ != nullptr)
      for (const auto& member : *members_)
        if (std::ranges::find(names, std::string_view{member.key()}) == names.end())
          fail("has an unknown member \"" + std::string{std::string_view{member.key()}} + '"');
    if (!what_.empty())
      return error{errc::invalid_argument, what_};
    return read;
  }

private:
  std::string record_;
  const json::object* members_;
  std::string what_;
};

} // namespace

bool is_allowed(human_response::kind what, const human_interrupt_config& config) {
  switch (what) {
  case response_kind::accept:
    return config.allow_accept;
  case response_kind::edit:
    return config.allow_edit;
  case response_kind::response:
    return config.allow_respond;
  case response_kind::ignore:
    return config.allow_ignore;
  }
  return false;
}

json::object to_json(const human_interrupt_config& config) {
  return {{"allow_ignore", config.allow_ignore},
          {"allow_respond", config.allow_respond},
          {"allow_edit", config.allow_edit},
          {"allow_accept", config.allow_accept}};
}

json::object to_json(const action_request& request) {
  return {{"action", request.action}, {"args", request.args}};
}

json::object to_json(const human_interrupt& interrupt) {
  auto out = json::object{{"action_request", to_json(interrupt.action)},
                          {"config", to_json(interrupt.config)}};
  if (interrupt.description)
    out["description"] = *interrupt.description;
  return out;
}

json::object to_json(const human_response& response) {
  const auto* const kind =
      std::ranges::find(response_kinds, response.type, [](const auto& k) { return k.second; });
  auto out = json::object{{"type", kind->first}};
  if (const auto* text = std::get_if<std::string>(&response.args))
    out["args"] = *text;
  else if (const auto* request = std::get_if<action_request>(&response.args))
    out["args"] = to_json(*request);
  else
    out["args"] = nullptr;
  return out;
}

result<human_interrupt_config> human_interrupt_config_from_json(const json::value& v) {
  auto in = record_reader{"HumanInterruptConfig", v};
  auto out = human_interrupt_config{};
  out.allow_ignore = in.flag("allow_ignore");
  out.allow_respond = in.flag("allow_respond");
  out.allow_edit = in.flag("allow_edit");
  out.allow_accept = in.flag("allow_accept");
  return in.done(out, {"allow_ignore", "allow_respond", "allow_edit", "allow_accept"});
}

result<action_request> action_request_from_json(const json::value& v) {
  auto in = record_reader{"ActionRequest", v};
  auto out = action_request{in.text("action"), in.object("args")};
  return in.done(std::move(out), {"action", "args"});
}

result<human_interrupt> human_interrupt_from_json(const json::value& v) {
  auto in = record_reader{"HumanInterrupt", v};
  auto out = human_interrupt{};
  const auto* request = in.find("action_request");
  const auto* config = in.find("config");
  if (auto read = action_request_from_json(request != nullptr ? *request : json::value{}))
    out.action = *std::move(read);
  else
    in.fail(read.error());
  if (auto read = human_interrupt_config_from_json(config != nullptr ? *config : json::value{}))
    out.config = *read;
  else
    in.fail(read.error());
  if (const auto* description = in.find("description")) {
    out.description = *description;
    if (!description->is_null() && !description->is_string())
      in.fail("needs a string or null as \"description\"");
  }
  return in.done(std::move(out), {"action_request", "config", "description"});
}

result<human_response> human_response_from_json(const json::value& v) {
  auto in = record_reader{"HumanResponse", v};
  auto out = human_response{};
  const auto type = in.text("type");
  const auto* const kind =
      std::ranges::find(response_kinds, type, [](const auto& k) { return k.first; });
  if (kind != response_kinds.end())
    out.type = kind->second;
  else
    in.fail("needs a \"type\" that is accept, ignore, response or edit");
  const auto* args = in.find("args");
  if (args == nullptr) {
    in.fail("needs \"args\", which may be null");
  } else if (const auto* text = args->if_string()) {
    out.args = std::string{std::string_view{*text}};
  } else if (!args->is_null()) {
    auto request = action_request_from_json(*args);
    if (request)
      out.args = *std::move(request);
    else
      in.fail(request.error());
  }
  return in.done(std::move(out), {"type", "args"});
}

} // namespace superstep
