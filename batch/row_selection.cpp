// SPDX-License-Identifier: Apache-2.0
// Selects the rows of a job. Shards and samples depend on digests of the rows' ids. So a row keeps
// its shard if the input is sorted in another way or gets more rows.
#include "row_selection.hpp"

#include <superstep/base/detail/assert.hpp>

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

namespace superstep::detail {
namespace {

/// The finaliser of SplitMix64. The low bits of FNV-1a alone are not random.
std::uint64_t mixed(std::uint64_t x) noexcept {
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31U);
}

std::uint64_t hash_of(const key_digest& row, std::uint64_t seed) noexcept {
  return mixed(row.low ^ mixed(row.high + seed * 0x9E3779B97F4A7C15ULL));
}

constexpr auto shard_seed = std::uint64_t{0x5348415244}; // independent of the seed of the sample

} // namespace

row_selection::row_selection(const batch_options& options)
    : shard_{options.shard - 1}, shards_{options.shards}, sample_{options.sample},
      seed_{options.seed}, repeat_{options.repeat}, limit_{options.limit.value_or(UINT64_MAX)} {}

bool row_selection::is_in_shard(const key_digest& row) const noexcept {
  return shards_ == 1 || hash_of(row, shard_seed) % shards_ == shard_;
}

std::uint64_t row_selection::weight_of(const key_digest& row) const noexcept {
  return hash_of(row, seed_);
}

void row_selection::count(row_numbers& into, bool is_bad) noexcept {
  const auto runs = is_bad ? 1 : repeat_; // an invalid line has one dead letter
  into.all += runs;
  if (counted_++ < limit_)
    into.wanted += runs;
}

void row_selection::see(const key_digest& row, bool is_bad) {
  if (!is_in_shard(row))
    return;
  if (!sample_)
    return count(numbers_, is_bad);
  candidates_.push({weight_of(row), position_++, is_bad});
  if (candidates_.size() > *sample_)
    candidates_.pop();
}

row_numbers row_selection::finish() {
  if (!sample_)
    return numbers_;
  if (candidates_.size() == *sample_)
    weight_max_ = candidates_.empty() ? 0 : candidates_.top().weight;
  auto chosen = std::vector<candidate>{};
  for (; !candidates_.empty(); candidates_.pop())
    chosen.push_back(candidates_.top());
  std::ranges::sort(chosen, {}, &candidate::position);
  for (const auto& row : chosen)
    count(numbers_, row.is_bad);
  return numbers_;
}

bool row_selection::contains(const key_digest& row) const noexcept {
  return is_in_shard(row) && (!sample_ || weight_of(row) <= weight_max_);
}

std::string shard_text(const batch_options& options) {
  if (options.shards == 1)
    return {};
  return std::to_string(options.shard) + "/" + std::to_string(options.shards);
}

std::string sample_text(const batch_options& options) {
  if (!options.sample)
    return {};
  return std::to_string(*options.sample) + " seed " + std::to_string(options.seed);
}

std::string repeat_text(const batch_options& options) {
  if (options.repeat == 1)
    return {};
  return std::to_string(options.repeat) + " seed " + std::to_string(options.seed);
}

result<row_repeats> repeats_of(std::string_view text) {
  auto out = row_repeats{};
  if (text.empty())
    return out;
  constexpr auto between = std::string_view{" seed "};
  const auto* const end = text.data() + text.size();
  const auto samples = std::from_chars(text.data(), end, out.samples);
  const auto rest = std::string_view{samples.ptr, static_cast<std::size_t>(end - samples.ptr)};
  if (samples.ec == std::errc{} && out.samples > 0 && rest.starts_with(between)) {
    const auto seed = std::from_chars(samples.ptr + between.size(), end, out.seed);
    if (seed.ec == std::errc{} && seed.ptr == end)
      return out;
  }
  return error{errc::parse_failed, "the job has an unknown form of --repeat: " + std::string{text}};
}

input_row sample_of(input_row row, std::uint32_t sample, const row_repeats& of) {
  SUPERSTEP_ASSERT(sample >= 1 && sample <= of.samples);
  if (of.samples == 1)
    return row;
  auto& request = row.request;
  request.key += "#" + std::to_string(sample);
  request.config.run_id = request.key;
  request.sample = sample;
  auto first = of.seed;
  if (const auto* own = request.parameters.if_contains("seed"); own != nullptr && own->is_int64())
    first = static_cast<std::uint64_t>(own->get_int64());
  request.seed = first + (sample - 1);
  return row;
}

} // namespace superstep::detail
