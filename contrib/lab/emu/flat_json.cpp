// SPDX-License-Identifier: BSD-3-Clause
// See flat_json.h. Escapes beyond \" \\ \/ \n \t are refused: nothing here needs them.
#include "flat_json.h"

#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace wan::lab {
namespace {

class Reader {
public:
    explicit Reader(const std::string& text) : text_(text) {}

    bool next_is(char wanted)
    {
        while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) {
            ++at_;
        }
        if (at_ < text_.size() && text_[at_] == wanted) {
            ++at_;
            return true;
        }
        return false;
    }

    bool string(std::string& out)
    {
        if (!next_is('"')) {
            return false;
        }
        for (; at_ < text_.size(); ++at_) {
            char c = text_[at_];
            if (c == '"') {
                ++at_;
                return true;
            }
            if (c == '\\') {
                if (++at_ == text_.size()) {
                    return false;
                }
                switch (text_[at_]) {
                case '"': case '\\': case '/': c = text_[at_]; break;
                case 'n': c = '\n'; break;
                case 't': c = '\t'; break;
                default: return false;
                }
            }
            out.push_back(c);
        }
        return false;
    }

    bool scalar(std::string& out)
    {
        if (next_is('"')) {
            --at_;
            return string(out);
        }
        while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) ||
                                      text_[at_] == '-' || text_[at_] == '+' || text_[at_] == '.')) {
            out.push_back(text_[at_++]);
        }
        return !out.empty();
    }

    bool at_end()
    {
        return !next_is('\0') && at_ == text_.size();
    }

    std::size_t at() const { return at_; }

private:
    const std::string& text_;
    std::size_t at_ = 0;
};

}  // namespace

std::optional<FlatJson> FlatJson::parse(const std::string& text, std::string& why)
{
    FlatJson object;
    Reader in(text);
    bool good = in.next_is('{');
    if (good && !in.next_is('}')) {
        do {
            std::string key, value;
            good = in.string(key) && in.next_is(':') && in.scalar(value);
            object.values_[key] = value;
        } while (good && in.next_is(','));
        good = good && in.next_is('}');
    }
    if (!good || !in.at_end()) {
        why = "not a flat JSON object, near character " + std::to_string(in.at() + 1);
        return std::nullopt;
    }
    return object;
}

std::string FlatJson::text(const std::string& key, const std::string& otherwise) const
{
    const auto found = values_.find(key);
    return found == values_.end() ? otherwise : found->second;
}

double FlatJson::number(const std::string& key, double otherwise) const
{
    const auto found = values_.find(key);
    if (found == values_.end()) {
        return otherwise;
    }
    char* end = nullptr;
    const double value = std::strtod(found->second.c_str(), &end);
    return end != found->second.c_str() && *end == '\0' ? value : std::nan("");
}

std::string json_quote(const std::string& text)
{
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            out.push_back('\\');
        }
        if (static_cast<unsigned char>(c) < 0x20) {
            char code[8];
            std::snprintf(code, sizeof code, "\\u%04x", c);
            out += code;
        } else {
            out.push_back(c);
        }
    }
    return out + "\"";
}

}  // namespace wan::lab
