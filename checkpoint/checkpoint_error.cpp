// SPDX-License-Identifier: Apache-2.0
// The error category "checkpoint". Its messages name only the kind of an error. what() of a
// checkpoint_error has the details.
#include <superstep/checkpoint/checkpointer.hpp>

namespace superstep {

namespace {

class checkpoint_category final : public std::error_category {
public:
  [[nodiscard]] const char* name() const noexcept override { return "checkpoint"; }
  [[nodiscard]] std::string message(int code) const override {
    switch (static_cast<checkpoint_errc>(code)) {
    case checkpoint_errc::not_storable:
      return "a value cannot be stored in a checkpoint";
    case checkpoint_errc::type_changed:
      return "the type of a channel differs from the stored type";
    case checkpoint_errc::node_gone:
      return "the thread's next node no longer exists";
    case checkpoint_errc::corrupt:
      return "stored data is damaged";
    case checkpoint_errc::newer_format:
      return "written by a newer version of superstep";
    case checkpoint_errc::failed:
      return "the disk or the database reported an error";
    case checkpoint_errc::conflict:
      return "another run has written to the thread";
    case checkpoint_errc::in_use:
      return "another run holds the thread";
    case checkpoint_errc::wrong_key:
      return "wrong encryption key";
    case checkpoint_errc::wrong_owner:
      return "the file belongs to a different job";
    }
    return "unknown checkpoint error";
  }
};

} // namespace

std::error_code make_error_code(checkpoint_errc code) noexcept {
  static const auto category = checkpoint_category{};
  return {static_cast<int>(code), category};
}

} // namespace superstep
