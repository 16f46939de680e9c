// SPDX-License-Identifier: Apache-2.0
// The functions of `runtime` by which a body interrupts its run, reports progress or learns its
// task's identity. They forward to the engine's call_services (actors/call.cpp). Also the answers
// to interrupts.
#include <superstep/runtime/detail/node_body.hpp>
#include <superstep/runtime/detail/runtime_access.hpp>
#include <superstep/runtime/runtime.hpp>
#include <superstep/runtime/update.hpp>

#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace superstep {

namespace {

std::optional<json::value> ask_with(detail::call_services* services, const json::value& asked) {
  if (services == nullptr)
    throw std::logic_error{
        "runtime::interrupt() and ask() need an engine: call them in the body of a node"};
  return services->ask(asked);
}

} // namespace

resume::resume(std::initializer_list<std::pair<std::string_view, json::value>> values) {
  for (const auto& [id, value] : values)
    by_id_.insert_or_assign(std::string{id}, value);
}

resume::resume(std::map<std::string, json::value> values) : by_id_{std::move(values)} {}

bool interrupt_awaiter::await_ready() {
  resume_value_ = ask_with(services_, value_);
  return resume_value_.has_value();
}

std::shared_ptr<const detail::task_place> detail::runtime_access::place(const runtime& rt) {
  return rt.services_ != nullptr ? rt.services_->place() : nullptr;
}

void runtime::report_progress(detail::progress_kind kind) const {
  if (services_ != nullptr)
    services_->note_progress(kind);
}

interrupt_awaiter runtime::interrupt(json::value asked) const {
  return {services_, std::move(asked)};
}

std::optional<json::value> runtime::ask(const json::value& asked) const {
  return ask_with(services_, asked);
}

} // namespace superstep
