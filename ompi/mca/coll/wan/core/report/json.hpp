/*
 * A printer of JSON for the plugin, which links no library for that: what it
 * prints is well formed and UTF-8 whatever the texts are.  It reads nothing, and
 * does not look at the locale.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_REPORT_JSON_HPP
#define WAN_REPORT_JSON_HPP

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace wan {

class json_text {
public:
    json_text &object() { return open('{'); }
    json_text &array() { return open('['); }
    /** Of the object or array opened last. */
    json_text &end()
    {
        out_ += nested_.back();
        nested_.pop_back();
        comma_ = true;
        return *this;
    }
    json_text &key(std::string_view name)
    {
        separate();
        quote(name);
        out_ += ':';
        comma_ = false;
        return *this;
    }
    json_text &value(std::string_view text)
    {
        separate();
        quote(text);
        comma_ = true;
        return *this;
    }
    json_text &value(const char *text) { return value(std::string_view(text)); }
    json_text &value(bool b) { return as_it_is(b ? "true" : "false"); }
    template <std::integral T> json_text &value(T number) { return as_it_is(std::to_string(number)); }
    template <typename T> json_text &value(const std::optional<T> &v) { return v ? value(*v) : as_it_is("null"); }
    /** number / 1000. */
    json_text &thousandth(int64_t number)
    {
        const auto least = static_cast<unsigned long long>(number < 0 ? -(number + 1) : number) + (number < 0);
        const std::string rest = std::to_string(1000 + least % 1000);
        return as_it_is((number < 0 ? "-" : "") + std::to_string(least / 1000) + "." + rest.substr(1));
    }
    template <typename T> json_text &member(std::string_view name, const T &v)
    {
        key(name);
        return value(v);
    }
    /** JSON already. */
    json_text &as_it_is(std::string_view json)
    {
        separate();
        out_ += json;
        comma_ = true;
        return *this;
    }
    /** The same, in a line of its own. */
    json_text &line(std::string_view json)
    {
        separate();
        (out_ += '\n') += json;
        comma_ = true;
        return *this;
    }
    const std::string &text() const { return out_; }
    /** Of a large one, so that it is not moved while it grows. */
    void reserve(size_t bytes) { out_.reserve(bytes); }
    std::string take() { return std::move(out_); }

private:
    std::string out_, nested_;
    bool comma_ = false;

    void separate()
    {
        if (comma_)
            out_ += ',';
    }
    json_text &open(char c)
    {
        separate();
        if (c == '{' && nested_.ends_with(']'))
            out_ += '\n';    // for people and diff
        out_ += c;
        nested_ += c == '{' ? '}' : ']';
        comma_ = false;
        return *this;
    }
    /** Bytes of the well-formed UTF-8 character that `s` begins with; 0: it does not. */
    static size_t character(std::string_view s)
    {
        const auto at = [&](size_t i) { return i < s.size() ? static_cast<unsigned char>(s[i]) : 0u; };
        const unsigned c = at(0), second = at(1);
        const size_t n = c < 0x80 ? 1 : c >= 0xc2 && c < 0xe0 ? 2 : c >= 0xe0 && c < 0xf0 ? 3 : c >= 0xf0 && c < 0xf5 ? 4 : 0;
        for (size_t i = 1; i < n; ++i)
            if ((at(i) & 0xc0) != 0x80)
                return 0;
        // Longer than need be, a half of a pair, beyond the last one.
        if ((c == 0xe0 && second < 0xa0) || (c == 0xed && second >= 0xa0) || (c == 0xf0 && second < 0x90)
            || (c == 0xf4 && second >= 0x90))
            return 0;
        return n;
    }
    void quote(std::string_view text)
    {
        static constexpr char hex[] = "0123456789abcdef";
        out_ += '"';
        while (!text.empty()) {
            const auto c = static_cast<unsigned char>(text[0]);
            const size_t n = character(text);
            if (c == '"' || c == '\\')
                (out_ += '\\') += text[0];
            else if (c < 0x20 || c == 0x7f)
                ((out_ += "\\u00") += hex[c >> 4]) += hex[c & 15];
            else if (n == 0)
                out_ += "\\ufffd";
            else
                out_ += text.substr(0, n);
            text.remove_prefix(n ? n : 1);
        }
        out_ += '"';
    }
};

} // namespace wan

#endif
