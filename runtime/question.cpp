// SPDX-License-Identifier: Apache-2.0
// The functions of `runtime` by which a body interrupts its run or learns its task's identity. They
// forward to the engine's call_services (actors/call.cpp).
#include <superstep/runtime/detail/node_body.hpp>
#include <superstep/runtime/runtime.hpp>

#include <stdexcept>
#include <utility>

namespace superstep {

bool question::await_ready() {
  if (services_ == nullptr)
    throw std::logic_error{
        "runtime::interrupt() and ask() need an engine: call them in the body of a node"};
  answer_ = services_->ask(asked_);
  return answer_.has_value();
}

std::shared_ptr<const detail::task_place> runtime::place() const {
  return services_ != nullptr ? services_->place() : nullptr;
}

question runtime::interrupt(json::value asked) const {
  return {services_, std::move(asked)};
}

std::optional<json::value> runtime::ask(const json::value& asked) const {
  if (services_ == nullptr)
    throw std::logic_error{
        "runtime::interrupt() and ask() need an engine: call them in the body of a node"};
  return services_->ask(asked);
}

} // namespace superstep
