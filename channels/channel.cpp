// SPDX-License-Identifier: Apache-2.0
// The error category of channels, and the errors that several kinds of channels return. The kinds
// are templates in include/superstep/channels/kinds.hpp.
#include "base/error_table.hpp"

#include <superstep/channels/channel.hpp>

#include <algorithm>

namespace superstep {

namespace {

constexpr detail::error_entry<channel_errc> code_table[] = {
    {channel_errc::invalid_update, "invalid_update",
     "a channel received more writes in a step than it accepts"},
    {channel_errc::reducer_failed, "reducer_failed", "the reducer of a channel failed"},
};

} // namespace

std::error_code make_error_code(channel_errc code) noexcept {
  static const auto category = detail::error_table<channel_errc>{
      "channel", "channel_errc", "unknown channel error", code_table};
  return {static_cast<int>(code), category};
}

channel::~channel() = default;
channel::kept_value::~kept_value() = default;

std::unique_ptr<channel::kept_value> channel::keep(const state_block&) const {
  return nullptr;
}

error channel::one_value_only() const {
  return {channel_errc::invalid_update,
          "At key '" + name_ +
              "': Can receive only one value per step.\nGive the channel a reducer to keep the "
              "values of several nodes, or let one node of a step write it."};
}

bool channel::has_two_overwrites(std::span<write* const> writes) noexcept {
  return std::ranges::count(writes, true, &write::overwrite) > 1;
}

error channel::one_overwrite_only() const {
  return {channel_errc::invalid_update,
          "At key '" + name_ +
              "': Can receive only one Overwrite value per super-step.\nLet one node of a step "
              "overwrite the channel."};
}

error channel::guarded_value_only(std::string_view kind) const {
  return {channel_errc::invalid_update,
          "At key '" + name_ + "': an " + std::string{kind} +
              " channel accepts one value per step.\nLet one node of a step write it, or create it "
              "with guard = false to keep the last value."};
}

} // namespace superstep
