// SPDX-License-Identifier: Apache-2.0
// Line editing with libedit. libedit asks this file for one character at a time. While this file
// waits for a character, it also watches for Ctrl-C and the other events of the conversation. It
// also recognises pasted text: the terminal encloses it in two markers ("bracketed paste").
#include "cli/line_editor.hpp"

#include "base/utf8.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <clocale>
#include <cstdlib>
#include <deque>
#include <stdexcept>

#include <histedit.h>
#include <poll.h>
#include <unistd.h>

namespace superstep::cli {

namespace {

constexpr auto paste_begins = std::string_view{"\x1b[200~"};
constexpr auto paste_ends = std::string_view{"\x1b[201~"};
static_assert(paste_begins.size() == paste_ends.size());
constexpr auto line_end_shown = wchar_t{0x23CE}; // ⏎ represents a line break in a paste
constexpr auto tab_shown = wchar_t{0x21E5};      // ⇥ represents a tab in a paste

// Global, because a signal handler has no other way to reach an object.
auto changes_terminal = std::atomic<bool>{false};
static_assert(std::atomic<bool>::is_always_lock_free);

void write_to_terminal(std::string_view text) {
  [[maybe_unused]] const auto written = ::write(STDOUT_FILENO, text.data(), text.size());
}

void append_utf8(std::string& out, wchar_t wide) {
  const auto code = std::uint32_t{static_cast<char32_t>(wide)};
  const auto tail = [&](unsigned shift) {
    out += static_cast<char>(0x80U | ((code >> shift) & 0x3FU));
  };
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0U | (code >> 6U));
    tail(0);
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0U | (code >> 12U));
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xF0U | (code >> 18U));
    tail(12);
    tail(6);
    tail(0);
  }
}

/// Returns the length of the UTF-8 character that starts with this byte; 1 for an invalid byte.
std::size_t size_of(char first) {
  const auto byte = static_cast<unsigned char>(first);
  return byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
}

} // namespace

struct line_editor::impl {
  explicit impl(const wake_up& given) : bell{given} {}

  /// The function that libedit calls to read a character. Returns 1 for a character, 0 at the end
  /// of the input, and -1 after Ctrl-C.
  static int read_character(EditLine* editor, wchar_t* into) {
    auto* self = static_cast<impl*>(nullptr);
    el_get(editor, EL_CLIENTDATA, &self);
    return self->next_character(*into);
  }
  static wchar_t* prompt_of(EditLine* editor) {
    auto* self = static_cast<impl*>(nullptr);
    el_get(editor, EL_CLIENTDATA, &self);
    return self->prompt.data();
  }

  int next_character(wchar_t& into) {
    for (;;) {
      if (bell.take_interrupt()) {
        was_interrupted = true;
        return -1;
      }
      if (take(into))
        return 1;
      if (has_ended)
        return 0;
      bell.sleep(STDIN_FILENO);
      read_available();
    }
  }

  void read_available() {
    auto asked = pollfd{STDIN_FILENO, POLLIN, 0};
    if (::poll(&asked, 1, 0) <= 0)
      return;
    auto bytes = std::array<char, 4096>{};
    const auto count = ::read(STDIN_FILENO, bytes.data(), bytes.size());
    if (count > 0)
      held.append(bytes.data(), static_cast<std::size_t>(count));
    else if (count == 0 || (errno != EINTR && errno != EAGAIN))
      has_ended = true;
  }

  /// Takes the next character from the bytes that were read. Returns false if more bytes are
  /// needed.
  bool take(wchar_t& into) {
    for (;;) {
      if (held.size() > line_reader::line_bytes_max)
        throw std::runtime_error{"a message is longer than " +
                                 std::to_string(line_reader::line_bytes_max) +
                                 " bytes; shorten it, or let a tool read the text from a file"};
      if (held.empty())
        return false;
      if (held.starts_with(paste_begins) || held.starts_with(paste_ends)) {
        is_pasting = held.starts_with(paste_begins);
        held.erase(0, paste_begins.size());
        continue;
      }
      if (may_become_marker() && !has_ended)
        return false;
      const auto size = size_of(held.front());
      if (held.size() < size && !has_ended)
        return false;
      if (take_character(std::min(size, held.size()), into))
        return true;
    }
  }

  /// Whether the bytes may be the beginning of a paste marker, so that more bytes are needed. A
  /// marker starts with the byte of the Esc key. The byte belongs to a marker only if more bytes
  /// follow at once.
  [[nodiscard]] bool may_become_marker() const {
    constexpr auto pause_ms = 25;
    if (!paste_begins.starts_with(held) && !paste_ends.starts_with(held))
      return false;
    auto more = pollfd{STDIN_FILENO, POLLIN, 0};
    return held.size() > 1 || is_pasting || ::poll(&more, 1, pause_ms) > 0;
  }

  /// Removes a character of `size` bytes from the read bytes, and decodes it. Returns false if it
  /// is a control character within a paste, which must not act as an editing key.
  bool take_character(std::size_t size, wchar_t& into) {
    const auto text = valid_utf8(held.substr(0, size));
    held.erase(0, size);
    auto code = std::uint32_t{static_cast<unsigned char>(text.front())};
    if (text.size() > 1) {
      code &= 0x7FU >> text.size();
      for (auto i = std::size_t{1}; i < text.size(); ++i)
        code = (code << 6U) | (static_cast<unsigned char>(text[i]) & 0x3FU);
    }
    into = static_cast<wchar_t>(code);
    if (!is_pasting)
      return true;
    if (code == '\r' && held.starts_with('\n'))
      held.erase(0, 1);
    has_paste = true;
    if (code == '\r' || code == '\n')
      into = line_end_shown;
    else if (code == '\t')
      into = tab_shown;
    else
      return code >= 0x20 && (code < 0x7F || code > 0x9F);
    return true;
  }

  /// Returns the edited line, with the line breaks of a paste restored.
  std::string text_of(const wchar_t* wide, int count) const {
    auto out = std::string{};
    for (auto i = 0; i < count; ++i) {
      const auto c = wide[i];
      const auto is_last = i + 1 == count;
      if (c == L'\n' && is_last)
        break;
      append_utf8(out, !has_paste ? c : c == line_end_shown ? L'\n' : c == tab_shown ? L'\t' : c);
    }
    return out;
  }

  const wake_up& bell;
  EditLine* editor = nullptr;
  HistoryW* history = nullptr;
  std::wstring prompt;
  std::string held; ///< bytes that were read from the terminal but not used yet
  bool is_pasting = false;
  bool has_paste = false; ///< whether the current line contains a paste
  bool has_ended = false;
  bool was_interrupted = false;
};

void line_editor::restore_terminal() noexcept {
  if (changes_terminal.exchange(false))
    write_to_terminal("\x1b[?2004l"); // turns bracketed paste off
}

bool line_editor::is_possible() {
  const auto* const term = std::getenv("TERM");
  return term != nullptr && *term != '\0' && std::string_view{term} != "dumb";
}

line_editor::line_editor(const wake_up& bell) : impl_{std::make_unique<impl>(bell)} {
  if (std::setlocale(LC_CTYPE, "") == nullptr || MB_CUR_MAX == 1)
    std::setlocale(LC_CTYPE, "C.UTF-8"); // like the rest of the program, libedit must use UTF-8
  auto& at = *impl_;
  at.editor = el_init("superstep", stdin, stdout, stderr);
  at.history = history_winit();
  if (at.editor == nullptr || at.history == nullptr)
    throw std::runtime_error{
        "cannot prepare the terminal for line editing; set TERM=dumb to read plain "
        "lines"};
  auto event = HistEventW{};
  history_w(at.history, &event, H_SETSIZE, static_cast<int>(history_max));
  history_w(at.history, &event, H_SETUNIQUE, 1);
  el_set(at.editor, EL_CLIENTDATA, &at);
  el_wset(at.editor, EL_EDITOR, L"emacs");
  el_wset(at.editor, EL_SIGNAL, 0);
  el_wset(at.editor, EL_HIST, history_w, at.history);
  el_wset(at.editor, EL_PROMPT, &impl::prompt_of);
  el_wset(at.editor, EL_GETCFN, &impl::read_character);
  el_wset(at.editor, EL_BIND, L"^R", L"em-inc-search-prev", nullptr);
  for (const auto* home : {L"\\e[H", L"\\e[1~", L"\\eOH"})
    el_wset(at.editor, EL_BIND, home, L"ed-move-to-beg", nullptr);
  for (const auto* end : {L"\\e[F", L"\\e[4~", L"\\eOF"})
    el_wset(at.editor, EL_BIND, end, L"ed-move-to-end", nullptr);
  el_wset(at.editor, EL_BIND, L"\\e[3~", L"ed-delete-next-char", nullptr);
  for (const auto* left : {L"\\e[1;5D", L"\\eb"})
    el_wset(at.editor, EL_BIND, left, L"ed-prev-word", nullptr);
  for (const auto* right : {L"\\e[1;5C", L"\\ef"})
    el_wset(at.editor, EL_BIND, right, L"em-next-word", nullptr);
  changes_terminal.store(true);
  write_to_terminal("\x1b[?2004h"); // turns bracketed paste on
}

line_editor::~line_editor() {
  restore_terminal();
  el_end(impl_->editor);
  history_wend(impl_->history);
}

line_reader::read line_editor::next(std::string_view prompt) {
  auto& at = *impl_;
  at.prompt.assign(prompt.begin(), prompt.end());
  at.has_paste = false;
  at.was_interrupted = false;
  el_resize(at.editor);
  auto count = 0;
  const auto* const line = el_wgets(at.editor, &count);
  if (at.was_interrupted) {
    discard();
    return {line_reader::end::interrupt};
  }
  if (line == nullptr || count <= 0)
    return {line_reader::end::input};
  return {line_reader::end::line, at.text_of(line, count)};
}

void line_editor::remember(const std::string& line) {
  auto wide = std::wstring{};
  auto length = std::mbstowcs(nullptr, line.c_str(), 0);
  if (line.empty() || length == static_cast<std::size_t>(-1) ||
      line.find('\n') != std::string::npos)
    return;
  wide.resize(length);
  std::mbstowcs(wide.data(), line.c_str(), length);
  auto event = HistEventW{};
  history_w(impl_->history, &event, H_ENTER, wide.c_str());
}

void line_editor::discard() noexcept {
  impl_->held.clear();
  impl_->is_pasting = false;
}

} // namespace superstep::cli
