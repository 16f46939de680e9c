// SPDX-License-Identifier: Apache-2.0
// Files with the output lines of a shared job, for outputs that are too large for the database.
#include "part_files.hpp"

#include <charconv>

#include <fcntl.h>

namespace superstep::detail {
namespace {

// Files of chunks that have ended are closed when so many are open.
constexpr auto open_files_max = std::size_t{64};

std::optional<std::uint64_t> number_of(std::string_view digits) {
  auto out = std::uint64_t{0};
  const auto* const end = digits.data() + digits.size();
  const auto [after, failed] = std::from_chars(digits.data(), end, out);
  return failed == std::errc{} && after == end ? std::optional{out} : std::nullopt;
}

} // namespace

std::string place_text(const part_place& place) {
  return place.name + ' ' + std::to_string(place.offset) + ' ' + std::to_string(place.size);
}

std::optional<part_place> part_place_of(std::string_view text) {
  const auto last = text.rfind(' ');
  const auto first = last == std::string_view::npos ? last : text.rfind(' ', last - 1);
  if (first == std::string_view::npos)
    return std::nullopt;
  const auto offset = number_of(text.substr(first + 1, last - first - 1));
  const auto size = number_of(text.substr(last + 1));
  const auto name = text.substr(0, first);
  // A name from a database must not lead out of the folder.
  if (!offset || !size || name.find('/') != std::string_view::npos || !name.starts_with("part-"))
    return std::nullopt;
  return part_place{std::string{name}, *offset, *size};
}

result<part_place> part_files::append(std::uint64_t first, std::uint32_t fence,
                                      std::string_view line) {
  if (parts_.size() >= open_files_max && !parts_.contains({first, fence}))
    std::erase_if(parts_, [](const auto& each) { return !each.second.is_changed; });
  auto& into = parts_[{first, fence}];
  if (!into.opened.is_open()) {
    into.name =
        "part-" + job_ + '-' + std::to_string(first) + '-' + std::to_string(fence) + ".jsonl";
    auto opened = file::open_regular(folder_ + '/' + into.name, O_RDWR | O_APPEND | O_CREAT);
    if (!opened)
      return opened.error();
    auto size = opened->size();
    if (!size)
      return size.error();
    into.opened = *std::move(opened);
    into.size = *size;
  }
  auto out = part_place{into.name, into.size, line.size()};
  auto bytes = std::string{line};
  bytes += '\n';
  if (auto written = into.opened.append(bytes); !written)
    return written.error();
  into.size += bytes.size();
  into.is_changed = true;
  return out;
}

result<void> part_files::sync() {
  for (auto& [lease, each] : parts_) {
    if (!each.is_changed)
      continue;
    if (auto synced = each.opened.sync(); !synced)
      return synced;
    if (each.is_new)
      if (auto synced = sync_folder_of(each.opened.path()); !synced)
        return synced;
    each.is_new = each.is_changed = false;
  }
  return {};
}

} // namespace superstep::detail
